// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/scheduler"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// relabelled is a hub with a binding that goes where a label is, scheduled on m1 and
// m2, and what the scheduler asks for and writes.
type relabelled struct {
	*testing.T
	hub   *pipelinetest.Hub
	stage *scheduler.Stage
	key   propagation.BindingKey
	asked []string
}

func relabel(t *testing.T) *relabelled {
	r := &relabelled{T: t, hub: pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})}
	r.stage = scheduler.New(r.hub, r.hub, nil, r.hub, func() time.Time { return fixture.Start })
	for _, m := range []string{"m1", "m2"} {
		r.hub.Join(m)
		r.hub.LabelCluster(m, "tier", "web")
	}
	p := fixture.Policy("p")
	policy := p.Policy()
	policy.Spec.Placement = policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}}}
	b, err := r.hub.CommitBinding(t.Context(), nil, gating.Decide(gating.Input{Template: fixture.Deployment("nginx").ClaimedBy(p).Template(), Policy: policy}).Next)
	if err != nil {
		t.Fatal(err)
	}
	r.key = b.Key
	r.hub.Ask = func(_ context.Context, q pipelinetest.Request) error {
		r.asked = append(r.asked, q.Verb+" "+q.About)
		return nil
	}
	r.schedule()
	return r
}

// schedule handles an event about the binding, and returns what the stage asked for.
func (r *relabelled) schedule() []string {
	r.Helper()
	r.asked = nil
	template := r.binding().Template()
	e, err := events.New("gate", event.Event{}, events.BindingActivated, events.Data{Template: &template, Binding: &r.key})
	if err != nil {
		r.Fatal(err)
	}
	r.asked = nil
	if _, err := r.stage.Handle(r.Context(), e); err != nil {
		r.Fatal(err)
	}
	return r.asked
}

func (r *relabelled) binding() *propagation.Binding {
	r.Helper()
	b, err := r.hub.Binding(r.Context(), r.key)
	if err != nil {
		r.Fatal(err)
	}
	return b
}

func (r *relabelled) wants(clusters string, held ...string) {
	r.Helper()
	b := r.binding()
	if got := strings.Join(b.TargetClusters(), " "); got != clusters || !slices.Equal(b.HeldRemovals(), held) {
		r.Errorf("on %s, held %v; want %s, held %v", got, b.HeldRemovals(), clusters, held)
	}
}

// replace lets the gate put another placement in force.
func (r *relabelled) replace(clusters ...string) {
	r.Helper()
	b := r.binding()
	next := *b
	next.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: clusters}}
	if _, err := r.hub.CommitBinding(r.Context(), b, &next); err != nil {
		r.Fatal(err)
	}
}

func TestZ12ALabelHoldsAndComesBack(t *testing.T) {
	r := relabel(t)
	r.wants("m1 m2")
	r.hub.LabelCluster("m1", "tier", "")
	r.schedule()
	r.wants("m1 m2", "m1")
	if again := r.schedule(); slices.ContainsFunc(again, func(q string) bool { return strings.HasPrefix(q, "update") || strings.HasPrefix(q, "patch") }) {
		t.Errorf("a second event writes: %v", again)
	}
	r.hub.LabelCluster("m1", "tier", "web")
	r.schedule()
	r.wants("m1 m2")
	if removals := r.binding().Removals(); len(removals) > 0 {
		t.Errorf("it says still %v", removals)
	}
}

// What is asked for costs what it did: the gates are read for nothing but a removal.
func TestZ12AnEditPassesAtOnce(t *testing.T) {
	r := relabel(t)
	r.replace("m2")
	asked := r.schedule()
	r.wants("m2")
	if want := []string{"get gates"}; !slices.ContainsFunc(asked, func(q string) bool { return q == want[0] }) {
		t.Errorf("it asked for %v", asked)
	}
	r.replace("m1", "m2")
	asked = r.schedule()
	r.wants("m1 m2")
	if s := fmt.Sprint(asked); strings.Contains(s, "gates") {
		t.Errorf("it asked for %v", asked)
	}
}

func TestZ12Gates(t *testing.T) {
	r := relabel(t)
	r.hub.SetFeatures(propagation.Features{Budget: propagation.BudgetAll})
	r.replace("m2")
	r.schedule()
	r.wants("m1 m2", "m1")
	r.hub.SetFeatures(propagation.Features{Budget: propagation.BudgetOff})
	r.schedule()
	r.wants("m2")
}

// Who deletes a binding while the labels are off takes nothing along: what is made anew
// is where its Works are.
func TestZ12ABindingDeletedWhileHeld(t *testing.T) {
	r := relabel(t)
	b := r.binding()
	for _, m := range []string{"m1", "m2"} {
		if err := r.hub.EnsureNamespace(t.Context(), propagation.PolicyForm.Namespace(m)); err != nil {
			t.Fatal(err)
		}
		w := &propagation.Work{Key: propagation.WorkKey{Cluster: m, Name: propagation.WorkName(b.Key)}, Annotations: map[string]string{
			propagation.AnnotationBindingNamespace: b.Key.Namespace, propagation.AnnotationBindingName: b.Key.Name,
			propagation.AnnotationTemplateUID: string(b.Spec.Resource.UID),
		}}
		if _, err := r.hub.CommitWork(t.Context(), nil, w); err != nil {
			t.Fatal(err)
		}
	}
	r.hub.LabelCluster("m1", "tier", "")
	r.schedule()
	r.wants("m1 m2", "m1")
	if err := r.hub.DeleteBinding(t.Context(), r.binding()); err != nil {
		t.Fatal(err)
	}
	anew := *b
	anew.UID, anew.ResourceVersion, anew.Annotations, anew.Spec.Clusters = "", "", map[string]string{propagation.AnnotationContentHash: b.ActedHash()}, nil
	if _, err := r.hub.CommitBinding(t.Context(), nil, &anew); err != nil {
		t.Fatal(err)
	}
	r.schedule()
	r.wants("m1 m2", "m1")
	if asked := r.schedule(); slices.Contains(asked, "list works") {
		t.Errorf("a second event asks for %v", asked)
	}
}

// noPlacements is a hub without any.
type noPlacements struct{ placements }

type placements = scheduler.Placements

func (noPlacements) Placements(context.Context) ([]*placementv1.ClusterResourcePlacement, error) {
	return nil, nil
}

// A cluster that changed concerns what is held there, too: it may come back.
func TestZ12AChangedClusterConcernsWhatIsHeld(t *testing.T) {
	r := relabel(t)
	concerned := func() int {
		e, err := events.New("sweeper", event.Event{}, events.ClusterChanged, events.Data{Cluster: "m1"})
		if err != nil {
			t.Fatal(err)
		}
		out, err := scheduler.New(r.hub, r.hub, noPlacements{}, r.hub, func() time.Time { return fixture.Start }).Handle(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return len(out)
	}
	for i, label := range []string{"", "web"} {
		r.hub.LabelCluster("m1", "tier", label)
		if concerned() != 1 {
			t.Errorf("change %d does not concern the binding", i)
		}
		r.schedule()
		if concerned() != 0 {
			t.Errorf("change %d concerns the binding still", i)
		}
	}
}
