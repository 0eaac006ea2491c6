// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporter_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/pipeline/reporter"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// one is a member that has one object.
type one struct{ *member.Observed }

func (m one) Observe(context.Context, member.Ref) (*member.Observed, error) { return m.Observed, nil }

// The news of an object that the applier has just made overtakes the applier's own
// word on the Work: whoever writes first makes the other read it all once more.
func TestReporterLetsTheApplierSpeakFirst(t *testing.T) {
	key := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	binding := propagation.BindingOf(key)
	const manifest = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"settings"},"data":{"a":"one"}}`
	for name, tt := range map[string]struct {
		said    workv1alpha1.WorkStatus // by the applier
		changed bool                    // the Work, since it was made
		want    int                     // writes
	}{
		"it has not said yet that the object is there":       {},
		"it has not said so, and may be held back meanwhile": {changed: true, want: 1},
		"it has said so": {said: workv1alpha1.WorkStatus{Applied: &workv1alpha1.AppliedState{ManifestHash: "h", UID: "u"}}, want: 1},
		"it found a suspension after it had made it": {said: workv1alpha1.WorkStatus{Conditions: []metav1.Condition{
			{Type: workv1alpha1.ConditionDispatching, Status: metav1.ConditionFalse, Reason: workv1alpha1.ReasonSuspendDispatching},
		}}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			if err := h.EnsureNamespace(ctx, propagation.WorkNamespace("m1")); err != nil {
				t.Fatal(err)
			}
			w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: propagation.WorkName(binding)}}
			w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}}}
			w, err := h.CommitWork(ctx, nil, w)
			if err != nil {
				t.Fatal(err)
			}
			if tt.changed {
				next := *w
				next.Spec.SuspendDispatching = new(bool)
				if w, err = h.CommitWork(ctx, w, &next); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := h.CommitWorkStatus(ctx, w, tt.said); err != nil {
				t.Fatal(err)
			}
			writes := 0
			h.Wrote = func(context.Context, pipelinetest.Write) { writes++ }
			s := reporter.New(h, func(context.Context, string) (reporter.Member, error) {
				return one{&member.Observed{UID: "u", Work: w.Key.Name, Partial: true, Object: map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "name": "settings"},
				}}}, nil
			}, func() time.Time { return fixture.Start })

			e, err := events.NewResource("m1", events.ResourceAdded, events.Object{TemplateKey: key, Cluster: "m1", Version: "1"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Handle(ctx, e); err != nil {
				t.Fatal(err)
			}
			if writes != tt.want {
				t.Errorf("%d writes, want %d", writes, tt.want)
			}
		})
	}
}

// unserved is a member that does not serve the kind any more.
type unserved struct{}

func (unserved) Observe(context.Context, member.Ref) (*member.Observed, error) {
	return nil, &member.NotServed{}
}

// Z17: an object goes with its kind. That it is missing is for the applier to say, who
// tries it again; nobody else tells when the kind is back.
func TestZ17TheApplierIsToldOfAKindThatGoes(t *testing.T) {
	ctx, key := t.Context(), propagation.TemplateKey{APIVersion: "example.com/v1", Kind: "Widget", Namespace: "shop", Name: "one"}
	h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
	if err := h.EnsureNamespace(ctx, propagation.WorkNamespace("m1")); err != nil {
		t.Fatal(err)
	}
	w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: propagation.WorkName(propagation.BindingOf(key))}}
	w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"shop","name":"one"}}`)}}}
	if _, err := h.CommitWork(ctx, nil, w); err != nil {
		t.Fatal(err)
	}
	s := reporter.New(h, func(context.Context, string) (reporter.Member, error) { return unserved{}, nil }, func() time.Time { return fixture.Start })
	e, err := events.NewResource("m1", events.ResourceDeleted, events.Object{TemplateKey: key, Cluster: "m1", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Handle(ctx, e)
	if err != nil || len(out) == 0 || out[len(out)-1].Type() != events.WorkRendered {
		t.Errorf("told %v, %v; want the applier to be woken", out, err)
	}
}

// TestAFewMembersAreAskedOneByOne: a list of the Works of one name, of all members, makes
// an API server look through all Works that there are, with each status that is summed up.
func TestAFewMembersAreAskedOneByOne(t *testing.T) {
	for name, tt := range map[string]struct {
		members int
		lists   bool
	}{
		"of a few members no Works are listed": {members: 8},
		"of more they are":                     {members: 9, lists: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			template := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
			b := &propagation.Binding{Key: propagation.BindingOf(template)}
			b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: b.Key.Namespace, Name: "settings", UID: "u"}
			for i := range tt.members {
				b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: fmt.Sprintf("m%d", i)})
			}
			made, err := h.CommitBinding(ctx, nil, b)
			must(t, err)
			for _, c := range made.Spec.Clusters {
				must(t, h.EnsureNamespace(ctx, propagation.WorkNamespace(c.Name)))
				w, err := h.CommitWork(ctx, nil, &propagation.Work{Key: propagation.WorkKey{Cluster: c.Name, Name: propagation.WorkName(b.Key)}})
				must(t, err)
				_, err = h.CommitWorkStatus(ctx, w, workv1alpha1.WorkStatus{Applied: &workv1alpha1.AppliedState{UID: "u"}, Conditions: []metav1.Condition{
					{Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionTrue, ObservedGeneration: w.Generation, Reason: "AppliedSuccessful"},
				}})
				must(t, err)
			}
			lists := 0
			h.Ask = func(_ context.Context, r pipelinetest.Request) error {
				if r.Verb == "list" {
					lists++
				}
				return nil
			}
			e, err := events.New("applier", event.New(), events.WorkApplied, events.Data{
				Template: &template, Binding: &b.Key, Cluster: "m0", Work: &propagation.WorkKey{Cluster: "m0", Name: propagation.WorkName(b.Key)},
			})
			must(t, err)
			_, err = reporter.New(h, nil, func() time.Time { return fixture.Start }).Handle(ctx, e)
			must(t, err)
			h.Ask = nil
			told, err := h.Binding(ctx, b.Key)
			must(t, err)
			if got := len(told.Status.AggregatedStatus); got != tt.members || (lists > 0) != tt.lists {
				t.Errorf("of %d members it tells %d, with %d lists", tt.members, got, lists)
			}
		})
	}
}

// What is in force by now is said with what became of it, in one write.
func TestWhatIsInForceIsSaidWithTheRest(t *testing.T) {
	const was = "policy shop/p, generation 1 is in force"
	for name, tt := range map[string]struct {
		active metav1.ConditionStatus
		want   string
	}{
		"it is said anew":                         {metav1.ConditionTrue, "policy shop/p, generation 2 is in force"},
		"that something waits is the gate's word": {metav1.ConditionFalse, was},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			template := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
			b := &propagation.Binding{Key: propagation.BindingOf(template), Annotations: map[string]string{
				propagation.AnnotationActivePolicy:     propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "p"}.ID(),
				propagation.AnnotationActiveGeneration: "2",
			}}
			b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: b.Key.Namespace, Name: "settings", UID: "u"}
			b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1"}}
			made, err := h.CommitBinding(ctx, nil, b)
			must(t, err)
			_, err = h.CommitBindingStatus(ctx, made, workv1alpha2.ResourceBindingStatus{Conditions: []metav1.Condition{
				{Type: gating.ConditionActive, Status: tt.active, Reason: "Was", Message: was},
			}})
			must(t, err)
			must(t, h.EnsureNamespace(ctx, propagation.WorkNamespace("m1")))
			key := propagation.WorkKey{Cluster: "m1", Name: propagation.WorkName(b.Key)}
			w, err := h.CommitWork(ctx, nil, &propagation.Work{Key: key})
			must(t, err)
			_, err = h.CommitWorkStatus(ctx, w, workv1alpha1.WorkStatus{Applied: &workv1alpha1.AppliedState{UID: "u"}, Conditions: []metav1.Condition{
				{Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionTrue, ObservedGeneration: w.Generation, Reason: "AppliedSuccessful"},
			}})
			must(t, err)
			writes := 0
			h.Wrote = func(context.Context, pipelinetest.Write) { writes++ }
			e, err := events.New("applier", event.New(), events.WorkApplied, events.Data{Template: &template, Binding: &b.Key, Cluster: "m1", Work: &key})
			must(t, err)
			_, err = reporter.New(h, nil, func() time.Time { return fixture.Start }).Handle(ctx, e)
			must(t, err)
			c := meta.FindStatusCondition(h.LiveBinding(b.Key).Status.Conditions, gating.ConditionActive)
			if c == nil || c.Status != tt.active || c.Message != tt.want || writes != 1 {
				t.Errorf("with %d writes it says %+v, want %s: %s, with one", writes, c, tt.active, tt.want)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
