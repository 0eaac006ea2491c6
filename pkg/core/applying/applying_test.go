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

// asked is a manifest, and mark its hash.
var (
	asked = map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "nginx", "namespace": "shop"},
		"spec": map[string]any{"image": "v1", "ports": []any{map[string]any{"port": 80.0}}},
	}
	mark = propagation.HashJSON(asked)
)

// object is as the member has it right after the manifest was applied, with its
// own defaults.
func object(change ...func(*applying.Observed)) applying.Read[*applying.Observed] {
	o := &applying.Observed{UID: "u", Work: workOf().Key.Name, Hub: "hub-1", Manifest: mark, FieldsHash: "f", Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "nginx", "namespace": "shop", "uid": "u"},
		"spec": map[string]any{"image": "v1", "paused": false, "ports": []any{map[string]any{"port": int64(80), "protocol": "TCP"}}},
	}}
	for _, c := range change {
		c(o)
	}
	return applying.Have(o)
}

// state is what the Work says after that.
func state() *workv1alpha1.AppliedState {
	return &workv1alpha1.AppliedState{ManifestHash: mark, FieldsHash: "f", UID: "u"}
}

func unlabelled(o *applying.Observed) { o.Work = "" }
func foreign(o *applying.Observed)    { o.Work = "another-work" }
func otherHub(o *applying.Observed)   { o.Hub = "hub-2" }
func spoilt(o *applying.Observed)     { o.FieldsHash = "g" }
func changed(o *applying.Observed)    { o.Object["spec"].(map[string]any)["image"] = "v2" }
func partial(o *applying.Observed)    { o.Partial = true }
func deleting(o *applying.Observed)   { o.Deleting = true }
func remade(o *applying.Observed)     { o.UID = "u-2" }

func TestDecideWhatStays(t *testing.T) {
	absent := applying.None[*applying.Observed]()
	for name, tc := range map[string]struct {
		live     applying.Read[*applying.Observed]
		known    *workv1alpha1.AppliedState
		held     string
		ended    bool
		takeOver applying.TakeOver
		when     applying.When

		action applying.Action
		reason applying.Reason
	}{
		"it is as it was applied":                                    {live: object(), known: state(), action: applying.Keep, reason: applying.ReasonApplied},
		"S23, ST24: it is, and the Work does not say so yet":         {live: object(), action: applying.Keep, reason: applying.ReasonUnrecorded},
		"a field of ours written by somebody before it was recorded": {live: object(changed), action: applying.Apply, reason: applying.ReasonDrifted},
		"a ConfigMap whose data nobody observes":                     {live: object(partial), action: applying.Apply, reason: applying.ReasonChanged},
		"a ConfigMap that is recorded":                               {live: object(partial), known: state(), action: applying.Keep, reason: applying.ReasonApplied},
		"somebody wrote a field of ours":                             {live: object(spoilt), known: state(), action: applying.Apply, reason: applying.ReasonDrifted},
		"it was made anew by somebody":                               {live: object(remade), known: state(), action: applying.Apply, reason: applying.ReasonDrifted},
		"another manifest was applied last":                          {live: object(func(o *applying.Observed) { o.Manifest = "other" }), known: &workv1alpha1.AppliedState{ManifestHash: "other", FieldsHash: "f", UID: "u"}, action: applying.Apply, reason: applying.ReasonChanged},
		"the member has none":                                        {live: absent, action: applying.Apply, reason: applying.ReasonMissing},
		"Z22: the member lost it":                                    {live: absent, known: state(), action: applying.Apply, reason: applying.ReasonMissing},
		"Z20: a Job that has ended is not there any more":            {live: absent, known: state(), ended: true, action: applying.Keep, reason: applying.ReasonFinished},
		"Z5: its label was taken off":                                {live: object(unlabelled), known: state(), action: applying.Apply, reason: applying.ReasonMarksMissing},
		"Z5: its annotation was taken off":                           {live: object(func(o *applying.Observed) { o.Manifest = "" }), known: state(), action: applying.Apply, reason: applying.ReasonDrifted},
		"Z5: its managed fields were taken off":                      {live: object(func(o *applying.Observed) { o.FieldsHash = "" }), known: state(), action: applying.Apply, reason: applying.ReasonDrifted},
		"one without a label that was never applied":                 {live: object(unlabelled), action: applying.Wait, reason: applying.ReasonNotOurs},
		"one without a label that is another one":                    {live: object(unlabelled, remade), known: state(), action: applying.Wait, reason: applying.ReasonNotOurs},
		"another Work's":                                             {live: object(foreign), action: applying.Wait, reason: applying.ReasonNotOurs},
		"another Work's, to be taken over":                           {live: object(foreign), takeOver: applying.TakeOverAlways, action: applying.Adopt, reason: applying.ReasonTakenOver},
		"another Work's that took it over from us":                   {live: object(foreign), known: state(), takeOver: applying.TakeOverAlways, action: applying.Wait, reason: applying.ReasonNotOurs},
		"one without a label, to be taken over if nothing differs":   {live: object(unlabelled), takeOver: applying.TakeOverIfNoDiff, action: applying.Adopt, reason: applying.ReasonTakenOver},
		"one without a label that differs, to be so":                 {live: object(unlabelled, changed), takeOver: applying.TakeOverIfNoDiff, action: applying.Wait, reason: applying.ReasonNotOurs},
		"Z26: another hub's":                                         {live: object(otherHub), action: applying.Wait, reason: applying.ReasonNotOurs},
		"Z26: another hub took it over from us":                      {live: object(otherHub), known: state(), takeOver: applying.TakeOverAlways, action: applying.Wait, reason: applying.ReasonNotOurs},
		"Z26: one from before hubs were named":                       {live: object(func(o *applying.Observed) { o.Hub = "" }), known: state(), action: applying.Keep, reason: applying.ReasonApplied},
		"a namespace that was made for another object": {
			live: applying.Have(&applying.Observed{UID: "n", Object: map[string]any{
				"kind": "Namespace", "metadata": map[string]any{"labels": map[string]any{applying.LabelCreated: "true"}},
			}}), action: applying.Adopt, reason: applying.ReasonTakenOver,
		},
		"it is being deleted, and something keeps it":       {live: object(deleting), known: state(), action: applying.Wait, reason: applying.ReasonTerminating},
		"Z17: the member does not serve its kind":           {live: applying.Read[*applying.Observed]{Answer: applying.NotServed}, known: state(), action: applying.Wait, reason: applying.ReasonKindNotServed},
		"the member does not answer":                        {known: state(), action: applying.Wait, reason: applying.ReasonCannotTell},
		"S23: it is suspended":                              {live: object(spoilt), known: state(), held: "the policy", action: applying.Wait, reason: applying.ReasonHeld},
		"drifted, and drift is only told":                   {live: object(spoilt, changed), known: state(), when: applying.WhenNotDrifted, action: applying.Wait, reason: applying.ReasonDrifted},
		"C76: it drifted, and somebody put it back":         {live: object(spoilt), known: state(), when: applying.WhenNotDrifted, action: applying.Apply, reason: applying.ReasonDrifted},
		"C76: it drifted, and whether it is back is unread": {live: object(spoilt, partial), known: state(), when: applying.WhenNotDrifted, action: applying.Wait, reason: applying.ReasonDrifted},
		"C76: somebody made it anew, as it has to be":       {live: object(remade), known: state(), when: applying.WhenNotDrifted, action: applying.Wait, reason: applying.ReasonDrifted},
		"drifted while another manifest is to be applied":   {live: object(spoilt, func(o *applying.Observed) { o.Manifest = "other" }), known: &workv1alpha1.AppliedState{ManifestHash: "other", FieldsHash: "f", UID: "u"}, when: applying.WhenNotDrifted, action: applying.Wait, reason: applying.ReasonDrifted},
		"differences are only told, and there is one":       {live: absent, when: applying.WhenNever, action: applying.Wait, reason: applying.ReasonMissing},
		"differences are only told, and there is none":      {live: object(), known: state(), when: applying.WhenNever, action: applying.Keep, reason: applying.ReasonApplied},
		"a Work without marks that says what it has to say": {live: object(), known: nil, when: applying.WhenNotDrifted, action: applying.Keep, reason: applying.ReasonUnrecorded},
	} {
		t.Run(name, func(t *testing.T) {
			d := applying.Decide(applying.Input{
				Work: workOf(), Manifest: asked, Known: tc.known, Live: tc.live, Hub: "hub-1",
				Held: tc.held, Ended: tc.ended, TakeOver: tc.takeOver, When: tc.when,
			})
			if d.Action != tc.action || d.Reason != tc.reason {
				t.Errorf("got %s %s, want %s %s", d.Action, d.Reason, tc.action, tc.reason)
			}
			if lost := d.Reason == applying.ReasonNotOurs && tc.known != nil && tc.live.Value.UID == tc.known.UID; d.Lost != lost {
				t.Errorf("lost to somebody else: %t, want %t", d.Lost, lost)
			}
			if _, permitted := d.Removal(); permitted {
				t.Error("it permits a removal")
			}
			if d.Action == applying.Keep && d.State != *state() {
				t.Errorf("to be recorded: %+v", d.State)
			}
		})
	}
}

// job is one that is removed when it has ended, as the member has it or had it last.
func job(status map[string]any, change ...func(*applying.Observed)) *applying.Observed {
	o := &applying.Observed{UID: "u", For: "w-1", Work: workOf().Key.Name, Hub: "hub-1", Manifest: mark, FieldsHash: "f", Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "once", "namespace": "shop", "uid": "u"},
		"spec": map[string]any{"ttlSecondsAfterFinished": int64(1)}, "status": status,
	}}
	for _, c := range change {
		c(o)
	}
	return o
}

func TestZ20WhatTheWatchSawLastCounts(t *testing.T) {
	complete := map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
	failed := map[string]any{"conditions": []any{map[string]any{"type": "Failed", "status": "True"}}}
	running := map[string]any{"active": int64(1)}
	former := func(o *applying.Observed) { o.For = "w-0" }
	gone := func(last *applying.Observed) applying.Read[*applying.Observed] {
		return applying.Read[*applying.Observed]{Answer: applying.Absent, Last: last}
	}
	for name, tc := range map[string]struct {
		live   applying.Read[*applying.Observed]
		known  *workv1alpha1.AppliedState
		reason applying.Reason
	}{
		"it was complete, which the Work does not say yet": {live: gone(job(complete)), known: state(), reason: applying.ReasonFinished},
		"it had failed": {live: gone(job(failed)), known: state(), reason: applying.ReasonFinished},
		"the Work does not even say that it was applied":         {live: gone(job(complete)), reason: applying.ReasonFinished},
		"another process applied it, and the Work says so":       {live: gone(job(complete, former)), known: state(), reason: applying.ReasonFinished},
		"it was applied for an earlier Work of the name":         {live: gone(job(complete, former)), reason: applying.ReasonMissing},
		"it was another that the Work says was applied":          {live: gone(job(complete, former, remade)), known: state(), reason: applying.ReasonMissing},
		"it was somebody else's":                                 {live: gone(job(complete, foreign)), known: state(), reason: applying.ReasonMissing},
		"somebody deleted it while it was running":               {live: gone(job(running)), known: state(), reason: applying.ReasonMissing},
		"it has ended, and is being removed":                     {live: applying.Have(job(complete, deleting)), known: state(), reason: applying.ReasonFinished},
		"it is being removed while it is running":                {live: applying.Have(job(running, deleting)), known: state(), reason: applying.ReasonTerminating},
		"it has ended, and somebody else's of the name goes now": {live: applying.Have(job(complete, deleting, foreign)), known: state(), reason: applying.ReasonTerminating},
	} {
		t.Run("Z20: "+name, func(t *testing.T) {
			w := workOf()
			w.UID = "w-1"
			d := applying.Decide(applying.Input{Work: w, Manifest: asked, Known: tc.known, Live: tc.live, Hub: "hub-1"})
			if d.Reason != tc.reason {
				t.Fatalf("got %s %s, want %s", d.Action, d.Reason, tc.reason)
			}
			if finished := tc.reason == applying.ReasonFinished; finished != (d.Action == applying.Keep) || finished != (d.Last != nil) || finished && d.State != *state() {
				t.Errorf("got %+v", d)
			}
		})
	}
}

func TestDecideWhatLeaves(t *testing.T) {
	cluster := applying.Have(&clusterv1alpha1.Cluster{})
	finding := func(t applying.Read[*propagation.Template], b applying.Read[*propagation.Binding]) applying.Finding {
		return applying.Examine(applying.Evidence{Others: applying.Have(applying.Others{}), Work: workOf(), Template: t, Binding: b, Cluster: cluster, Settled: true, Now: start})
	}
	gone := finding(applying.None[*propagation.Template](), applying.None[*propagation.Binding]())
	out := finding(template("uid-1"), binding("b-1", "uid-1", "m2"))
	wanted := finding(template("uid-1"), binding("b-1", "uid-1", "m1"))
	missing := finding(template("uid-1"), applying.None[*propagation.Binding]())
	untold := finding(applying.Read[*propagation.Template]{Answer: applying.NotServed}, applying.None[*propagation.Binding]())
	untold.Untold = true
	for name, tc := range map[string]struct {
		finding  applying.Finding
		live     applying.Read[*applying.Observed]
		held     string
		blocking bool
		preserve bool

		action applying.Action
		reason applying.Reason
	}{
		"its template is gone":                                     {finding: gone, live: object(), action: applying.Remove, reason: applying.ReasonTemplateGone},
		"S24: its template is gone, and it is suspended":           {finding: gone, live: object(), held: "the policy", action: applying.Remove, reason: applying.ReasonTemplateGone},
		"its template is gone, and it is to be preserved":          {finding: gone, live: object(), preserve: true, action: applying.Release, reason: applying.ReasonPreserved},
		"the binding leaves the cluster out":                       {finding: out, live: object(), action: applying.Remove, reason: applying.ReasonLeftOut},
		"left out, and to be preserved with its template":          {finding: out, live: object(), preserve: true, action: applying.Remove, reason: applying.ReasonLeftOut},
		"S27: left out, and suspended":                             {finding: out, live: object(), held: "the policy", action: applying.Wait, reason: applying.ReasonHeld},
		"Z10: left out and suspended, in a namespace that goes":    {finding: out, live: object(), held: "the policy", blocking: true, action: applying.Release, reason: applying.ReasonWorksLeaving},
		"left out, in a namespace that goes":                       {finding: out, live: object(), blocking: true, action: applying.Remove, reason: applying.ReasonLeftOut},
		"wanted, in a namespace that goes":                         {finding: wanted, live: object(), held: "the policy", blocking: true, action: applying.Wait, reason: applying.ReasonWanted},
		"Z3: the Work was deleted by hand":                         {finding: wanted, live: object(), action: applying.Wait, reason: applying.ReasonWanted},
		"Z4: the binding is missing":                               {finding: missing, live: object(), action: applying.Wait, reason: applying.ReasonBindingMissing},
		"the hub does not tell of its template":                    {finding: untold, live: object(), action: applying.Wait, reason: applying.ReasonCannotTell},
		"Z10: nor does it in a namespace that goes":                {finding: untold, live: object(), blocking: true, action: applying.Release, reason: applying.ReasonWorksLeaving},
		"nothing was found out":                                    {live: object(), action: applying.Wait},
		"it is gone already":                                       {finding: gone, live: applying.None[*applying.Observed](), action: applying.Release, reason: applying.ReasonDeleted},
		"Z10: a kind that is not served, in a namespace that goes": {finding: gone, live: applying.Read[*applying.Observed]{Answer: applying.NotServed}, blocking: true, action: applying.Release, reason: applying.ReasonWorksLeaving},
		"Z17: the member does not serve its kind":                  {finding: gone, live: applying.Read[*applying.Observed]{Answer: applying.NotServed}, action: applying.Wait, reason: applying.ReasonKindNotServed},
		"the member does not answer":                               {finding: gone, action: applying.Wait, reason: applying.ReasonCannotTell},
		"it is another Work's by now":                              {finding: gone, live: object(foreign), action: applying.Release, reason: applying.ReasonNotOurs},
		"it lost the label: without it nothing is deleted":         {finding: gone, live: object(unlabelled), action: applying.Release, reason: applying.ReasonNotOurs},
		"Z26: it is another hub's":                                 {finding: gone, live: object(otherHub), action: applying.Release, reason: applying.ReasonNotOurs},
		"it is being deleted already, and something keeps it":      {finding: gone, live: object(deleting), action: applying.Wait, reason: applying.ReasonTerminating},
		"Z10: something keeps it, in a namespace that goes":        {finding: gone, live: object(deleting), blocking: true, action: applying.Release, reason: applying.ReasonTerminating},
	} {
		t.Run(name, func(t *testing.T) {
			w := workOf()
			w.Spec.PreserveResourcesOnDeletion = &tc.preserve
			d := applying.Decide(applying.Input{
				Work: w, Manifest: asked, Known: state(), Live: tc.live, Hub: "hub-1", Held: tc.held, Blocking: tc.blocking, Leaving: true, Finding: tc.finding,
			})
			if d.Action != tc.action || d.Reason != tc.reason {
				t.Errorf("got %s %s, want %s %s", d.Action, d.Reason, tc.action, tc.reason)
			}
			removal, permitted := d.Removal()
			if permitted != (tc.action == applying.Remove) {
				t.Errorf("a removal is permitted: %v", permitted)
			}
			if permitted && (removal.UID() != "u" || removal.Work() != w.Key.Name || !removal.Proof().Holds()) {
				t.Errorf("got %+v", removal)
			}
		})
	}
	if (applying.Removal{}).Permits() {
		t.Error("the zero Removal permits something")
	}
}

func TestFinished(t *testing.T) {
	job := func(ttl bool) map[string]any {
		spec := map[string]any{}
		if ttl {
			spec["ttlSecondsAfterFinished"] = int64(1)
		}
		return map[string]any{"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"name": "once", "namespace": "shop"}, "spec": spec}
	}
	says := func(status string) *propagation.Work {
		return workOf(func(w *propagation.Work) {
			s := workv1alpha1.ManifestStatus{Identifier: workv1alpha1.ResourceIdentifier{Group: "batch", Kind: "Job", Namespace: "shop", Name: "once"}}
			s.Status = raw(status)
			w.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{s}
		})
	}
	remembers := binding("b-1", "uid-1", "m1").Value
	remembers.Status.AggregatedStatus = append(remembers.Status.AggregatedStatus, aggregated("m1", `{"conditions":[{"type":"Complete","status":"True"}]}`))
	for name, tc := range map[string]struct {
		work     *propagation.Work
		binding  *propagation.Binding
		manifest map[string]any
		want     bool
	}{
		"Z20: it is complete": {work: says(`{"conditions":[{"type":"Complete","status":"True"}]}`), manifest: job(true), want: true},
		"Z20: it has failed":  {work: says(`{"conditions":[{"type":"Failed","status":"True"}]}`), manifest: job(true), want: true},
		"it runs":             {work: says(`{"active":1}`), manifest: job(true)},
		"it is not to be removed when it has ended": {work: says(`{"conditions":[{"type":"Complete","status":"True"}]}`), manifest: job(false)},
		"no Job": {work: says(`{"conditions":[{"type":"Complete","status":"True"}]}`), manifest: asked},
		"Z3, Z20: the Work was deleted since, and the binding remembers": {work: workOf(), binding: remembers, manifest: job(true), want: true},
		"nobody ever said": {work: workOf(), manifest: job(true)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := applying.Finished(tc.work, tc.binding, tc.manifest); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
