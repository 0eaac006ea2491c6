// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying_test

import (
	"testing"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// formerly gives the Work the name that its binding's had before.
func formerly(w *propagation.Work) {
	w.Key.Name = propagation.FormerWorkName(propagation.BindingOf(key))
}

// ofAnother has the Work say that it is another binding's.
func ofAnother(w *propagation.Work) {
	w.Annotations[propagation.AnnotationBindingNamespace], w.Annotations[propagation.AnnotationBindingName] = "shop", "other-deployment"
	w.Annotations[propagation.AnnotationTemplate] = `{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"other"}`
}

// An object that came by a Work of the one name is ours when the Work has the other:
// it is not touched but for its marks.
func TestZ34AnObjectIsKnownByBothNamesOfItsWork(t *testing.T) {
	former := func(o *applying.Observed) { o.Work = workOf(formerly).Key.Name }
	for name, tc := range map[string]struct {
		work     *propagation.Work
		live     applying.Read[*applying.Observed]
		known    *workv1alpha1.AppliedState
		held     string
		takeOver applying.TakeOver

		action applying.Action
		reason applying.Reason
		drift  bool
	}{
		"a Work that has the former name, and so its object": {work: workOf(formerly), live: object(former), known: state(), action: applying.Keep, reason: applying.ReasonApplied},
		"the Work was made anew under the present name":      {work: workOf(), live: object(former), action: applying.Apply, reason: applying.ReasonMarksOld, drift: true},
		"it was, and is suspended":                           {work: workOf(), live: object(former), held: "the policy", action: applying.Wait, reason: applying.ReasonHeld},
		"a hub that went back has the former name again":     {work: workOf(formerly), live: object(), known: state(), action: applying.Apply, reason: applying.ReasonMarksOld, drift: true},
		"the former name, and another hub's":                 {work: workOf(), live: object(former, otherHub), action: applying.Wait, reason: applying.ReasonNotOurs, drift: true},
		"a third name":                                       {work: workOf(), live: object(foreign), action: applying.Wait, reason: applying.ReasonNotOurs, drift: true},
		"the former name, and the Work says it is another's": {work: workOf(ofAnother), live: object(former), action: applying.Wait, reason: applying.ReasonNotOurs, drift: true},
		"the former name, and it is being deleted":           {work: workOf(), live: object(former, deleting), action: applying.Wait, reason: applying.ReasonTerminating, drift: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := applying.Decide(applying.Input{Work: tc.work, Manifest: asked, Known: tc.known, Live: tc.live, Hub: "hub-1", Held: tc.held, TakeOver: tc.takeOver})
			if d.Action != tc.action || d.Reason != tc.reason || d.Drift() != tc.drift {
				t.Errorf("got %s %s (drift: %t), want %s %s (%t)", d.Action, d.Reason, d.Drift(), tc.action, tc.reason, tc.drift)
			}
		})
	}
	d := applying.Decide(applying.Input{Work: workOf(), Manifest: asked, Live: object(former), Hub: "hub-1", Leaving: true, Finding: applying.Examine(applying.Evidence{Others: applying.Have(applying.Others{}),
		Work: workOf(), Template: applying.None[*propagation.Template](), Cluster: applying.Have(&clusterv1alpha1.Cluster{}), Now: start,
	})})
	removal, ok := d.Removal()
	if !ok || removal.Work() != workOf(formerly).Key.Name || removal.UID() != "u" {
		t.Errorf("its template is gone: got %s %s, and the removal %+v", d.Action, d.Reason, removal)
	}
}

// Where two Works of one binding are in one cluster, the one of the former name gives
// its member nothing, and when it goes its object stays.
func TestZ34OfTwoWorksTheOneOfThePresentNameStands(t *testing.T) {
	wanted, out := binding("b-1", "uid-1", "m1"), binding("b-1", "uid-1", "m2")
	there := func(change ...func(*propagation.Work)) applying.Read[*propagation.Work] {
		return applying.Have(workOf(change...))
	}
	none := applying.None[*propagation.Work]()
	for name, tc := range map[string]struct {
		work       *propagation.Work
		successor  applying.Read[*propagation.Work]
		template   applying.Read[*propagation.Template]
		binding    applying.Read[*propagation.Binding]
		superseded bool

		action applying.Action
		reason applying.Reason
	}{
		"the other is there":                             {workOf(formerly), there(), template("uid-1"), wanted, true, applying.Release, applying.ReasonSuperseded},
		"the other is there, and is being deleted":       {workOf(formerly), there(func(w *propagation.Work) { w.Deleting = true }), template("uid-1"), wanted, true, applying.Release, applying.ReasonSuperseded},
		"the template was made anew":                     {workOf(formerly), there(), template("uid-2"), binding("b-2", "uid-2", "m1"), true, applying.Release, applying.ReasonSuperseded},
		"there is no other":                              {workOf(formerly), none, template("uid-1"), wanted, false, applying.Wait, applying.ReasonWanted},
		"nobody asked whether there is":                  {workOf(formerly), applying.Read[*propagation.Work]{}, template("uid-1"), wanted, false, applying.Wait, applying.ReasonWanted},
		"what has the present name is another binding's": {workOf(formerly), there(ofAnother), template("uid-1"), wanted, false, applying.Wait, applying.ReasonWanted},
		"it has the present name itself":                 {workOf(), there(), template("uid-1"), wanted, false, applying.Wait, applying.ReasonWanted},
		"the template is gone, and so the object goes":   {workOf(formerly), there(), applying.None[*propagation.Template](), wanted, true, applying.Remove, applying.ReasonTemplateGone},
		"the binding leaves the cluster out":             {workOf(formerly), there(), template("uid-1"), out, true, applying.Remove, applying.ReasonLeftOut},
		"nobody can tell where it goes":                  {workOf(formerly), there(), template("uid-1"), applying.None[*propagation.Binding](), true, applying.Wait, applying.ReasonBindingMissing},
	} {
		t.Run(name, func(t *testing.T) {
			if got := applying.Superseded(tc.work, tc.successor); got != tc.superseded {
				t.Errorf("superseded: %t, want %t", got, tc.superseded)
			}
			f := applying.Examine(applying.Evidence{Others: applying.Have(applying.Others{}),
				Work: tc.work, Template: tc.template, Binding: tc.binding, Cluster: applying.Have(&clusterv1alpha1.Cluster{}), Settled: true, Successor: tc.successor, Now: start,
			})
			live := object(func(o *applying.Observed) { o.Work = tc.work.Key.Name })
			d := applying.Decide(applying.Input{Work: tc.work, Manifest: asked, Known: state(), Live: live, Hub: "hub-1", Leaving: true, Finding: f})
			if d.Action != tc.action || d.Reason != tc.reason {
				t.Errorf("got %s %s, want %s %s", d.Action, d.Reason, tc.action, tc.reason)
			}
			if _, ok := d.Removal(); ok != (tc.action == applying.Remove) {
				t.Errorf("a removal is permitted: %t", ok)
			}
		})
	}
}
