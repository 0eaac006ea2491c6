// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package registrar

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/mirroring"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// fleet is a hub with one member, which notes what is written.
type fleet struct {
	Hub
	cluster  *clusterv1alpha1.Cluster
	member   *memberclusterv1.MemberCluster
	works    []*propagation.Work
	bindings []*placementv1.ClusterResourceBinding
	// unlisted answers whoever lists them.
	unlisted error
	// placement answers for each that is asked for.
	placement error
	strategy  placementv1.RolloutStrategyType
	wrote     []string
	listed    int // how often all MemberClusters were
	// retired says that MemberClusters go with their kind.
	retired bool
	// unserved are the kinds that are not served.
	unserved map[string]bool
}

// served is the error for a kind that is not.
func (f *fleet) served(kind string) error {
	if f.unserved[kind] {
		return fmt.Errorf("list %s: %w", kind, outcome.ErrNotServed)
	}
	return nil
}

func (f *fleet) note(what string) { f.wrote = append(f.wrote, what) }

func (f *fleet) take() []string {
	wrote := f.wrote
	f.wrote = nil
	return wrote
}

func (f *fleet) Cluster(context.Context, string) (*clusterv1alpha1.Cluster, error) {
	if err := f.served("Cluster"); err != nil {
		return nil, err
	}
	if f.cluster == nil {
		return nil, outcome.ErrGone
	}
	return f.cluster, nil
}

func (f *fleet) Clusters(context.Context) ([]*clusterv1alpha1.Cluster, error) {
	if f.cluster == nil {
		return nil, f.served("Cluster")
	}
	return []*clusterv1alpha1.Cluster{f.cluster}, f.served("Cluster")
}

func (f *fleet) EnsureNamespace(_ context.Context, name string) error {
	f.note("namespace " + name)
	return nil
}

func (f *fleet) Member(context.Context, string) (*memberclusterv1.MemberCluster, error) {
	if f.member == nil {
		return nil, outcome.ErrGone
	}
	return f.member, nil
}

func (f *fleet) Members(context.Context) ([]*memberclusterv1.MemberCluster, error) {
	f.listed++
	if f.member == nil {
		return nil, nil
	}
	return []*memberclusterv1.MemberCluster{f.member}, nil
}

func (f *fleet) CommitMember(_ context.Context, old, next *memberclusterv1.MemberCluster) (*memberclusterv1.MemberCluster, error) {
	if old != nil && cmp.Equal(old, next) {
		return old, nil
	}
	if old != nil && f.member == nil {
		return nil, outcome.ErrGone
	}
	f.note("member")
	if f.member = next; next.DeletionTimestamp != nil && len(next.Finalizers) == 0 {
		f.member = nil
	}
	return next, nil
}

func (f *fleet) CommitMemberStatus(_ context.Context, m *memberclusterv1.MemberCluster, s memberclusterv1.MemberClusterStatus) (*memberclusterv1.MemberCluster, error) {
	f.note("status")
	next := m.DeepCopy()
	next.Status = s
	f.member = next
	return next, nil
}

func (f *fleet) DeleteMemberAt(_ context.Context, m *memberclusterv1.MemberCluster) error {
	f.note("delete member")
	f.member = m.DeepCopy()
	f.member.DeletionTimestamp = &metav1.Time{Time: began}
	return nil
}

func (f *fleet) MembersRetired(context.Context) (bool, error) { return f.retired, nil }

func (f *fleet) AnnotateCluster(_ context.Context, c *clusterv1alpha1.Cluster, key, value string) (*clusterv1alpha1.Cluster, error) {
	f.note("annotate")
	f.cluster = c.DeepCopy()
	f.cluster.Annotations = map[string]string{key: value}
	if value == "" {
		f.cluster.Annotations = nil
	}
	return f.cluster, nil
}

func (f *fleet) PlacementBindings(context.Context) ([]*placementv1.ClusterResourceBinding, error) {
	return f.bindings, stdcmp.Or(f.unlisted, f.served("ClusterResourceBinding"))
}

func (f *fleet) Placement(_ context.Context, name string) (*placementv1.ClusterResourcePlacement, error) {
	p := &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Strategy.Type = f.strategy
	return p, stdcmp.Or(f.placement, f.served("ClusterResourcePlacement"))
}

func (f *fleet) PlacementWorksOn(context.Context, string) (on []*propagation.Work, _ error) {
	for _, w := range f.works {
		if w.Key.Form == propagation.PlacementForm {
			on = append(on, w)
		}
	}
	return on, nil
}

func (f *fleet) WorksOn(context.Context, string) ([]*propagation.Work, error) {
	return f.works, f.served("Work")
}

func (f *fleet) CommitWork(_ context.Context, _, next *propagation.Work) (*propagation.Work, error) {
	f.note("keep " + next.Key.Name)
	return next, nil
}

func (f *fleet) DeleteWork(_ context.Context, w *propagation.Work) error {
	f.note("delete " + w.Key.Name)
	return nil
}

func (f *fleet) Work(_ context.Context, key propagation.WorkKey) (*propagation.Work, error) {
	for _, w := range f.works {
		if w.Key == key {
			return w, nil
		}
	}
	return nil, outcome.ErrGone
}

func (f *fleet) ReleaseWork(_ context.Context, w *propagation.Work) error {
	f.note("release " + w.Key.Name)
	f.works = slices.DeleteFunc(f.works, func(o *propagation.Work) bool { return o.Key == w.Key })
	return nil
}

var began = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// mirroringStage is a stage on the fleet, whose member has one node.
func mirroringStage(f *fleet, now *time.Time) *Registrar {
	well := func(context.Context, string) (string, error) { return "v1.36.3", nil }
	all := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	usage := func(context.Context, string) (*mirroring.Usage, error) {
		return &mirroring.Usage{Nodes: 1, Capacity: all, Allocatable: all, Available: all}, nil
	}
	return New(f, well, func() time.Time { return *now }).Mirroring(f, usage)
}

// stepper brings the MemberCluster up to its Cluster, and expects these writes.
func stepper(t *testing.T, f *fleet, s *Registrar) func(want ...string) {
	return func(want ...string) {
		t.Helper()
		if _, _, err := s.member(t.Context(), f.cluster); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, f.take()); diff != "" {
			t.Errorf("written (-want +got):\n%s", diff)
		}
	}
}

func TestAMemberIsAMemberCluster(t *testing.T) {
	f := &fleet{cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1", Labels: map[string]string{"env": "prod"}}}}
	now := began
	s, last := mirroringStage(f, &now), time.Time{}
	look := func(failure error, want ...string) {
		t.Helper()
		a := answer{version: "v1.36.3", failure: failure, last: last}
		if failure == nil {
			if a = s.ask(t.Context(), "member1", last); a.failure != nil {
				t.Fatal(a.failure)
			}
		}
		last = now
		if _, err := s.mirrored(t.Context(), f.cluster, a); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, f.take()); diff != "" {
			t.Errorf("written (-want +got):\n%s", diff)
		}
	}
	down := errors.New("it does not answer")
	look(nil, "namespace fleet-member-member1", "member", "status")
	if f.member.Labels["env"] != "prod" || f.member.Status.ResourceUsage.Available == nil {
		t.Errorf("member: %+v", f.member)
	}
	now = now.Add(time.Hour)
	look(nil) // that it is well is no news
	now = now.Add(time.Second)
	look(down, "status")
	look(down)
	if !conditions.Is(f.member.Status.Conditions, "Healthy", metav1.ConditionFalse) || !f.member.Status.Agent(memberclusterv1.MemberAgent).LastReceivedHeartbeat.Time.Equal(now.Add(-time.Second)) {
		t.Errorf("C49: status %+v", f.member.Status)
	}
	look(nil, "status")
	f.cluster.Labels["env"] = "canary"
	look(nil, "member")
}

// TestAMemberLeavesThePlacements, because somebody deleted its MemberCluster: what
// it has stays, and it is not made again until somebody wants it.
func TestAMemberLeavesThePlacements(t *testing.T) {
	policys := &propagation.Work{Key: propagation.WorkKey{Cluster: "member1", Name: "policys"}}
	placements := &propagation.Work{Key: propagation.WorkKey{Cluster: "member1", Name: "placements", Form: propagation.PlacementForm}}
	f := &fleet{
		cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1"}},
		works:   []*propagation.Work{policys, placements},
	}
	now := began
	s := mirroringStage(f, &now)
	step := stepper(t, f, s)
	step("namespace fleet-member-member1", "member")
	f.member.DeletionTimestamp = &metav1.Time{Time: began}
	b := &placementv1.ClusterResourceBinding{}
	b.Spec.TargetCluster = "member1"
	f.bindings = []*placementv1.ClusterResourceBinding{b}
	step("annotate", "keep placements", "delete placements", "release placements")
	step() // until the scheduler has taken the binding away
	f.bindings = nil
	out := events.From(tick.Stage, event.New())
	f.cluster.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "ClusterReady", Message: "the cluster answers and can be written to"}}
	if err := s.report(t.Context(), f.cluster, answer{}, out); err != nil {
		t.Fatal(err)
	}
	told, err := out.Events()
	if diff := cmp.Diff([]string{"member"}, f.take()); diff != "" || f.member != nil || err != nil || len(told) != 1 || told[0].Type() != events.ClusterChanged {
		t.Errorf("it is gone, so the placements are decided anew: told %v, %v, written (-want +got):\n%s", told, err, diff)
	}
	step() // and is not made again
	f.cluster.Annotations = nil
	step("namespace fleet-member-member1", "member")
}

// A binding of a placement that is not there any more holds no member, nor one that nobody
// but somebody else takes away.
func TestAMemberLeavesBindingsThatNobodyRemoves(t *testing.T) {
	const external, unscheduled = placementv1.ExternalRolloutStrategyType, placementv1.BindingStateUnscheduled
	for name, tc := range map[string]struct {
		label     string
		placement error
		unlisted  error
		strategy  placementv1.RolloutStrategyType
		state     placementv1.BindingState
		stays     bool
	}{
		"the rollout is about to remove it":                       {label: "crp", state: unscheduled, stays: true},
		"C61: somebody else removes it, who knows when":           {label: "crp", strategy: external, state: unscheduled},
		"C61: somebody else removes it, and it is in force still": {label: "crp", strategy: external, state: placementv1.BindingStateBound, stays: true},
		"the placement is there":                                  {label: "crp", stays: true},
		"the placement is gone":                                   {label: "crp", placement: outcome.ErrGone},
		"nobody can tell":                                         {label: "crp", placement: outcome.ErrNotServed, stays: true},
		"it does not say whose it is":                             {placement: outcome.ErrGone, stays: true},
		"Z11: the kind of bindings is not served":                 {label: "crp", unlisted: outcome.ErrNotServed},
		"the bindings cannot be listed":                           {label: "crp", unlisted: outcome.ErrNotBuilt, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fleet{cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1"}}, placement: tc.placement, strategy: tc.strategy}
			now := began
			s := mirroringStage(f, &now)
			step := stepper(t, f, s)
			step("namespace fleet-member-member1", "member")
			f.member.DeletionTimestamp = &metav1.Time{Time: began}
			b := &placementv1.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
			b.Spec.TargetCluster, b.Spec.State = "member1", tc.state
			if tc.label != "" {
				b.Labels = map[string]string{placementv1.LabelParentCRP: tc.label}
			}
			f.bindings, f.unlisted = []*placementv1.ClusterResourceBinding{b}, tc.unlisted
			_ = s.report(t.Context(), f.cluster, answer{}, events.From(tick.Stage, event.New()))
			if stays := f.member != nil; stays != tc.stays {
				t.Errorf("the member stays: %t, want %t", stays, tc.stays)
			}
		})
	}
}

// A Cluster that is deleted and made again, as from its file, takes part again: nobody
// deleted its MemberCluster, which went with the former one, and be it a moment after the
// next one was made.
func TestAMemberClusterThatGoesWithAFormerClusterIsMadeForTheNext(t *testing.T) {
	f := &fleet{cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1"}}}
	now := began
	s := mirroringStage(f, &now)
	step := stepper(t, f, s)
	step("namespace fleet-member-member1", "member")
	f.cluster = nil
	f.bindings = []*placementv1.ClusterResourceBinding{{Spec: placementv1.ResourceBindingSpec{TargetCluster: "member1"}}}
	if gone, err := s.widow(t.Context(), "member1"); gone || err != nil || f.member.DeletionTimestamp == nil {
		t.Fatalf("it does not leave: %v", err)
	}
	f.take()
	f.cluster = &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1", CreationTimestamp: metav1.NewTime(f.member.DeletionTimestamp.Add(-time.Second))}}
	step() // until the scheduler has taken the binding away
	f.bindings = nil
	step("member")
	step("namespace fleet-member-member1", "member")
}

// Placements are decided anew when a member takes part, and when its health turns, and
// not with each look at it.
func TestPlacementsHearWhenAMemberMayBePicked(t *testing.T) {
	f := &fleet{cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1"}}}
	now := began
	s := mirroringStage(f, &now)
	// Made by somebody's wish, and not heard of yet.
	if _, moved, err := s.member(t.Context(), f.cluster); err != nil || !moved {
		t.Fatalf("it takes part: moved %t, %v", moved, err)
	}
	for i, tc := range []struct {
		failure error
		want    bool
	}{{nil, true}, {nil, false}, {errors.New("it does not answer"), true}, {errors.New("it does not answer"), false}, {nil, true}} {
		now = now.Add(time.Hour)
		moved, err := s.mirrored(t.Context(), f.cluster, answer{version: "v1.36.3", failure: tc.failure, last: now})
		if err != nil || moved != tc.want {
			t.Errorf("look %d: moved %t, want %t, %v", i, moved, tc.want, err)
		}
	}
}

func TestAMemberClusterGoesWithItsCluster(t *testing.T) {
	f := &fleet{member: &memberclusterv1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "member1", Finalizers: []string{memberclusterv1.Finalizer}}}}
	now := began
	s := mirroringStage(f, &now)
	out := events.From(tick.Stage, event.New())
	if err := s.widowed(t.Context(), nil, out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"member", "delete member", "member"}, f.take()); diff != "" || f.member != nil {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if told, err := out.Events(); err != nil || len(told) != 1 || told[0].Type() != events.ClusterChanged {
		t.Errorf("decisions name it as leaving until somebody tells that it has left: %v, %v", told, err)
	}
	f.member = &memberclusterv1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "somebodys"}}
	if err := s.widowed(t.Context(), nil, out); err != nil || len(f.take()) > 0 || f.member == nil {
		t.Errorf("one that nobody made for a Cluster is somebody else's: %v", err)
	}
}

// Who leaves is counted once, by whom lets it go: its Cluster's event, its MemberCluster's
// and the sweep may come to it at once.
func TestC104AMemberThatLeavesIsCountedOnce(t *testing.T) {
	f := &fleet{member: &memberclusterv1.MemberCluster{ObjectMeta: metav1.ObjectMeta{
		Name: "member1", Finalizers: []string{memberclusterv1.Finalizer}, DeletionTimestamp: &metav1.Time{Time: began},
	}}}
	now := began
	s := mirroringStage(f, &now)
	read, before := f.member, counted(t, "leave_result_counter")
	for range 2 {
		if gone, err := s.leave(t.Context(), nil, read); !gone || err != nil {
			t.Fatalf("it does not leave: %v", err)
		}
	}
	if n := counted(t, "leave_result_counter") - before; n != 1 {
		t.Errorf("%v left, want 1", n)
	}
}

// counted is the value of a counter, whatever its labels.
func counted(t *testing.T, name string) (n float64) {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// A Cluster is read, its member is asked, and meanwhile somebody unjoins it.
func TestNoMemberClusterIsMadeForAClusterThatHasGone(t *testing.T) {
	read := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1", UID: "1"}}
	leaving, another := read.DeepCopy(), read.DeepCopy()
	leaving.DeletionTimestamp, another.UID = &metav1.Time{Time: began}, "2"
	now := began
	for name, is := range map[string]*clusterv1alpha1.Cluster{"it has gone": nil, "it is going": leaving, "it is another of the name": another} {
		f := &fleet{cluster: is}
		m, _, err := mirroringStage(f, &now).member(t.Context(), read)
		if wrote := f.take(); m != nil || err != nil || len(wrote) > 0 {
			t.Errorf("%s: %v, %v, written %v", name, m, err, wrote)
		}
	}
}

// Members are asked for their nodes once in a minute each, and not all in the same sweep.
func TestNodesAreLookedAtInTurns(t *testing.T) {
	looked, inOne := map[string]int{}, 0
	for last := began; last.Before(began.Add(10 * time.Minute)); last = last.Add(10 * time.Second) {
		now, n := last.Add(10*time.Second), 0
		for i := range 60 {
			if cluster := fmt.Sprint("member", i); looks(cluster, last, now) {
				looked[cluster]++
				n++
			}
		}
		inOne = max(inOne, n)
	}
	for cluster, n := range looked {
		if n != 10 {
			t.Errorf("%s was looked at %d times in ten minutes", cluster, n)
		}
	}
	if len(looked) != 60 || inOne > 30 {
		t.Errorf("%d of 60 were looked at, %d in one sweep", len(looked), inOne)
	}
	if !looks("member1", time.Time{}, began) {
		t.Error("one that joins is not looked at")
	}
}
