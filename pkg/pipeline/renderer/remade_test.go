// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/pkg/pipeline/renderer"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// open suspends nothing.
type open struct{}

func (open) Check(context.Context, propagation.TemplateKey, propagation.BindingKey, string, uint64) (suspension.Verdict, error) {
	return suspension.Verdict{}, nil
}

// to lets the binding name those members.
func (r *scene) to(clusters ...string) {
	r.t.Helper()
	next := *r.bound
	next.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: clusters}}
	next.Spec.Clusters = nil
	for _, c := range clusters {
		next.Spec.Clusters = append(next.Spec.Clusters, workv1alpha2.TargetCluster{Name: c})
	}
	next.Spec.Resource.UID = r.hub.Live(r.key).UID
	var err error
	if r.bound, err = r.hub.CommitBinding(r.t.Context(), r.bound, &next); err != nil {
		r.t.Fatal(err)
	}
}

// The deletion of a Work cannot be taken back. Where its member is a target again,
// it is let go by who makes it anew, and not before: in between nothing would tell
// of the member's object, should the binding move on.
func TestZ3AWorkThatIsBeingDeletedIsNotForgottenBeforeItIsMadeAnew(t *testing.T) {
	r := secretBound(t)
	members := map[string]*pipelinetest.Member{}
	for _, c := range []string{"m1", "m2"} {
		members[c] = pipelinetest.NewMember(c)
		if err := members[c].EnsureNamespace(t.Context(), "shop", nil); err != nil {
			t.Fatal(err)
		}
	}
	stage := applier.New(r.hub, open{}, func(_ context.Context, c string) (applier.Member, error) { return members[c], nil }, func() time.Time { return fixture.Start })
	// handle gives the events about m2 to the applier, and returns what it answers of
	// all members.
	handle := func(in []event.Event) (out []event.Event) {
		t.Helper()
		for _, e := range in {
			msg, err := events.Decode(e)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(msg.Each(), func(one events.Data) bool { return one.Cluster == "m2" }) {
				continue
			}
			answers, err := stage.Handle(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, answers...)
		}
		return out
	}
	asked := func(out []event.Event) event.Event {
		t.Helper()
		for _, e := range out {
			if msg, err := events.Decode(e); err == nil && e.Type() == events.BindingScheduled && msg.Reason == string(applying.ReasonWanted) {
				return e
			}
		}
		t.Fatalf("the applier does not ask for the Work, but answers %v", out)
		return event.Event{}
	}

	r.hub.Apply(r.key, func(obj map[string]any) { obj["data"] = map[string]any{"k": "hunter1"} })
	r.to("m1", "m2")
	handle(r.render())
	first := r.work("m2")
	if len(members["m2"].Objects()) != 1 || first == nil {
		t.Fatal("m2 does not have it")
	}

	r.to("m1")
	removed := r.render() // it is deleted, and before the applier hears of that …
	r.to("m1", "m2")      // … m2 is a target again
	again := asked(handle(removed))
	if w := r.work("m2"); w == nil || !w.Deleting {
		t.Fatalf("the Work for m2 was let go: %v", w)
	}
	if out, err := r.stage.Handle(t.Context(), again); err != nil || len(out) == 0 {
		t.Fatal(out, err)
	}
	second := r.work("m2")
	if second == nil || second.Deleting || second.UID == first.UID {
		t.Fatalf("the Work for m2 was not made anew: %v", second)
	}

	r.to("m1")
	removed = r.render()
	r.to("m1", "m2")
	again = asked(handle(removed))
	r.to("m1") // once more before the renderer hears of it
	moved := r.render()
	out, err := r.stage.Handle(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	handle(out)
	handle(moved)
	if d := cmp.Diff(0, len(members["m2"].Objects())); d != "" || r.work("m2") != nil {
		t.Errorf("m2 has what its Work does not tell of (-want +got)\n%s%v", d, r.work("m2"))
	}
}

// refusing is a hub that makes no Work of a present name.
type refusing struct {
	*pipelinetest.Hub
	refuses bool
}

func (h *refusing) CommitWork(ctx context.Context, old, next *propagation.Work) (*propagation.Work, error) {
	if h.refuses && old == nil && next.Key.Name == propagation.WorkName(next.Binding()) {
		return nil, outcome.After(time.Second, errors.New("request timed out"))
	}
	return h.Hub.CommitWork(ctx, old, next)
}

// The hub fails just when a Work was let go, before it is made anew, and the template is
// deleted before that is tried again: the object leaves the member all the same.
func TestZ3WhatAWorkBroughtIsNotForgottenWhileItIsMadeAnew(t *testing.T) {
	for name, deleted := range map[string]bool{"and the template stays": false, "and the template is deleted": true} {
		t.Run(name, func(t *testing.T) {
			r := secretBound(t)
			hub := &refusing{Hub: r.hub}
			now := func() time.Time { return fixture.Start }
			r.stage = renderer.New(hub, now)
			m := pipelinetest.NewMember("m2")
			if err := m.EnsureNamespace(t.Context(), "shop", nil); err != nil {
				t.Fatal(err)
			}
			stage := applier.New(r.hub, open{}, func(context.Context, string) (applier.Member, error) { return m, nil }, now)
			applied := func() {
				t.Helper()
				template, key := r.key, r.bound.Key
				for _, w := range r.hub.LiveWorks() {
					if w.Key.Cluster != "m2" {
						continue
					}
					kind := map[bool]string{true: events.WorkRemoved, false: events.WorkRendered}[w.Deleting]
					e, err := events.New("test", event.New(), kind, events.Data{Template: &template, Binding: &key, Work: &w.Key, Cluster: "m2"})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := stage.Handle(t.Context(), e); err != nil {
						t.Fatal(err)
					}
				}
			}
			r.hub.Apply(r.key, func(obj map[string]any) { obj["data"] = map[string]any{"k": "hunter1"} })
			r.to("m1", "m2")
			r.render()
			applied()
			uid := m.Objects()[0].UID
			r.to("m1")
			r.render()
			r.to("m1", "m2")
			hub.refuses = true
			if r.render(); r.work("m2") != nil {
				t.Fatal("the Work for m2 is still there")
			}
			hub.refuses = false
			if deleted {
				r.hub.Delete(r.key)
				if err := r.hub.DeleteBinding(t.Context(), r.bound); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				r.render()
				applied()
			}
			var left []string
			for _, w := range r.hub.LiveWorks() {
				if w.Key.Cluster == "m2" {
					left = append(left, w.Key.Name)
				}
			}
			want := []string{propagation.WorkName(r.bound.Key)}
			if deleted {
				want = nil
			}
			if d := cmp.Diff(want, left); d != "" {
				t.Errorf("Works for m2 (-want +got)\n%s", d)
			}
			if has := m.Objects(); len(has) != len(want) || !deleted && has[0].UID != uid {
				t.Errorf("m2 has %v", has)
			}
		})
	}
}

// Somebody deletes the Work of a Job that has ended, which does not run again: only what
// the Work says of it tells that.
func TestZ20AWorkThatIsMadeAnewKnowsThatItsJobHasEnded(t *testing.T) {
	for kind, handed := range map[propagation.TemplateKey]bool{
		{APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: "once"}:        true,
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}: false,
	} {
		t.Run(kind.Kind, func(t *testing.T) {
			r := templateBound(t, kind)
			r.render()
			status := workv1alpha1.WorkStatus{ManifestStatuses: []workv1alpha1.ManifestStatus{{
				Identifier: workv1alpha1.ResourceIdentifier{Kind: kind.Kind, Namespace: kind.Namespace, Name: kind.Name},
				Status:     &runtime.RawExtension{Raw: []byte(`{"conditions":[{"type":"Complete","status":"True"}]}`)},
			}}}
			w, err := r.hub.CommitWorkStatus(t.Context(), r.work("m1"), status)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.hub.DeleteWork(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			r.render()
			if is := r.work("m1"); is == nil || is.UID == w.UID || (len(is.Status.ManifestStatuses) > 0) != handed {
				t.Errorf("the new Work is %+v", is)
			}
		})
	}
}

// However many members of an event miss their Works, one event asks for all of them.
func TestWorksThatAreBeingDeletedAreAskedForOnce(t *testing.T) {
	r := secretBound(t)
	stage := applier.New(r.hub, open{}, func(_ context.Context, c string) (applier.Member, error) { return pipelinetest.NewMember(c), nil }, func() time.Time { return fixture.Start })
	r.hub.Apply(r.key, func(obj map[string]any) { obj["data"] = map[string]any{"k": "hunter1"} })
	r.to("m1", "m2")
	r.render()
	for _, c := range []string{"m1", "m2"} {
		if err := r.hub.DeleteWork(t.Context(), r.work(c)); err != nil {
			t.Fatal(err)
		}
	}
	var works []events.Data
	for _, c := range []string{"m1", "m2"} {
		w := r.work(c)
		works = append(works, events.Data{Template: &r.key, Binding: &r.bound.Key, Work: &w.Key, WorkVersion: w.ResourceVersion, Cluster: c})
	}
	cause := event.New()
	cause.SetID("cause")
	cause.SetSource("/test")
	cause.SetType(events.BindingScheduled)
	b := events.From("renderer", cause)
	for _, w := range works {
		b.EmitWork(events.WorkRemoved, w)
	}
	removed, err := b.Events()
	if err != nil || len(removed) != 1 {
		t.Fatalf("%d events, %v", len(removed), err)
	}
	out, err := stage.Handle(t.Context(), removed[0])
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, e := range out {
		if e.Type() == events.BindingScheduled {
			asked++
			if _, err := r.stage.Handle(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if asked != 1 {
		t.Errorf("%d events ask for the Works, want one: %v", asked, out)
	}
	for i, c := range []string{"m1", "m2"} {
		if w := r.work(c); w == nil || w.Deleting || w.ResourceVersion == works[i].WorkVersion {
			t.Errorf("the Work for %s was not made anew: %v", c, w)
		}
	}
}

// The applier would ask for it again, and so on.
func TestZ3OfAWorkThatCannotBeMadeAnewNowNobodyIsTold(t *testing.T) {
	r := secretBound(t)
	r.render()
	if err := r.hub.DeleteWork(t.Context(), r.work("m2")); err != nil {
		t.Fatal(err)
	}
	r.hub.PutOverride(propagation.Override{Key: propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "over"}, Spec: policyv1alpha1.OverrideSpec{
		OverrideRules: []policyv1alpha1.RuleWithCluster{{
			TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}},
			Overriders: policyv1alpha1.Overriders{Plaintext: []policyv1alpha1.PlaintextOverrider{{
				Path: "/spec/missing/0", Operator: policyv1alpha1.OverriderOpReplace, Value: apiextensionsv1.JSON{Raw: []byte("1")},
			}}},
		}},
	}})
	told := r.render()
	if len(told) != 1 {
		t.Errorf("told: %v", told)
	}
	if msg, err := events.Decode(told[0]); err != nil || msg.Cluster != "m1" {
		t.Errorf("told of %s: %v", msg.Cluster, err)
	}
	if w := r.work("m2"); w == nil || !w.Deleting {
		t.Errorf("the Work for m2 is %v", w)
	}
}

// Z6: nothing can be rendered while the frozen content is missing. The binding says so,
// a member that it leaves out loses the object all the same, and when the content is back
// all is made up for.
func TestZ6LostContentIsTold(t *testing.T) {
	r := secretBound(t)
	r.hub.Apply(r.key, func(obj map[string]any) { obj["data"] = map[string]any{"k": "hunter2"} })
	r.render()
	r.let("hunter2")
	kept, err := r.hub.Revision(t.Context(), r.bound, r.bound.Revision())
	if err != nil {
		t.Fatal(err)
	}
	r.to("m1")
	r.hub.LoseRevision(r.bound, r.bound.Revision())
	before := r.work("m1").Annotations[propagation.AnnotationRevision]
	r.render()
	rendered := func() metav1.Condition {
		r.bound = r.hub.LiveBinding(r.bound.Key)
		if c := meta.FindStatusCondition(r.bound.Status.Conditions, rendering.ConditionRendered); c != nil {
			return *c
		}
		return metav1.Condition{}
	}
	if c := rendered(); c.Status != metav1.ConditionFalse || c.Reason != rendering.ReasonContentLost || !strings.HasPrefix(c.Message, "m1: ") {
		t.Errorf("the binding says %s %s: %s", c.Status, c.Reason, c.Message)
	}
	if w := r.work("m1"); w.Deleting || w.Annotations[propagation.AnnotationRevision] != before {
		t.Errorf("the Work for m1, which cannot be made anew, is %+v", w)
	}
	if !r.work("m2").Deleting {
		t.Error("the Work for m2, which is left out, stays")
	}
	if r.render(); len(r.writes) > 0 {
		t.Errorf("nothing changed, and was written: %v", r.writes)
	}
	if err := r.hub.CreateRevision(t.Context(), r.bound, kept); err != nil {
		t.Fatal(err)
	}
	r.render()
	if c := rendered(); c.Status != metav1.ConditionTrue {
		t.Errorf("the content is back, and the binding says %s %s: %s", c.Status, c.Reason, c.Message)
	}
	if w := r.work("m1"); w.Annotations[propagation.AnnotationRevision] != r.bound.Revision() {
		t.Error("the content is back, and the Work for m1 is not made of it")
	}
}

// Nothing can be rendered while the frozen content is missing. A suspension does not
// wait for that, and neither does its end.
func TestASuspensionDoesNotWaitForLostContent(t *testing.T) {
	r := secretBound(t)
	r.render()
	m1, _ := r.keys()
	r.hub.LoseRevision(r.bound, r.bound.Revision())
	for _, suspended := range []bool{true, false} {
		r.bound = r.hub.LiveBinding(r.bound.Key)
		next := *r.bound
		next.Spec.Suspension = nil
		if suspended {
			next.Spec.Suspension = &workv1alpha2.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: []string{"m1"}}}
		}
		var err error
		if r.bound, err = r.hub.CommitBinding(t.Context(), r.bound, &next); err != nil {
			t.Fatal(err)
		}
		before := r.work("m1").Spec.Workload
		out := r.render()
		want := []string{"update " + m1}
		if suspended { // for the first time
			want = []string{"update status of binding shop/token-secret", "update " + m1}
		}
		if d := cmp.Diff(want, r.writes); d != "" {
			t.Errorf("suspended %t: writes (-want +got)\n%s", suspended, d)
		}
		if w := r.work("m1"); w.Suspended() != suspended || !cmp.Equal(w.Spec.Workload, before) {
			t.Errorf("the Work is suspended: %t, want %t, and carries what it did: %t", w.Suspended(), suspended, cmp.Equal(w.Spec.Workload, before))
		}
		if last := len(out) - 1; out[0].Type() != events.WorkRendered || out[last].Type() != events.TemplateTouched {
			t.Errorf("told %v, want the applier and the gate woken", out)
		}
		r.render()
		if len(r.writes) > 0 {
			t.Errorf("nothing changed, and was written: %v", r.writes)
		}
	}
}
