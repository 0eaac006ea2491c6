// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

var equateEmpty = cmpopts.EquateEmpty()

// anyInput draws a binding of a placement with every kind of division, held
// replicas that need not fit it, and some clusters.
func anyInput(t *rapid.T) Input {
	name := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("member%d", rapid.IntRange(1, 6).Draw(t, "n")) })
	in := Input{Clusters: rapid.Permutation(anyRoom(t, fleet(rapid.IntRange(0, 6).Draw(t, "clusters")))).Draw(t, "order")}
	held := rapid.MapOf(name, rapid.Int32Range(0, 9)).Draw(t, "held")
	p := policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType:     policyv1alpha1.ReplicaSchedulingTypeDivided,
		ReplicaDivisionPreference: rapid.SampledFrom([]policyv1alpha1.ReplicaDivisionPreference{"", "Aggregated", "Weighted"}).Draw(t, "preference"),
	}}
	if rapid.Bool().Draw(t, "static") {
		w := &policyv1alpha1.ClusterPreferences{}
		for range rapid.IntRange(0, 4).Draw(t, "weights") {
			w.StaticWeightList = append(w.StaticWeightList, policyv1alpha1.StaticClusterWeight{
				TargetCluster: *names(name.Draw(t, "cluster")), Weight: rapid.Int64Range(1, 5).Draw(t, "weight"),
			})
		}
		if rapid.Bool().Draw(t, "dynamic") {
			w.DynamicWeight = policyv1alpha1.DynamicWeightByAvailableReplicas
		}
		p.ReplicaScheduling.WeightPreference = w
	}
	if most := rapid.IntRange(0, 4).Draw(t, "most"); most > 0 {
		p.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByFieldCluster, MaxGroups: most}}
	}
	in.Binding = &propagation.Binding{Spec: workv1alpha2.ResourceBindingSpec{
		Replicas: rapid.Int32Range(0, 30).Draw(t, "replicas"), Placement: &p, ReplicaRequirements: requesting("cpu", "1"),
	}}
	for n, r := range held {
		in.Binding.Spec.Clusters = append(in.Binding.Spec.Clusters, on(n, r))
	}
	in.Binding.Spec.Clusters = sorted(in.Binding.Spec.Clusters)
	return in
}

// anyRoom draws what is free in each cluster, or that of some it is not known.
func anyRoom(t *rapid.T, clusters []*clusterv1alpha1.Cluster) []*clusterv1alpha1.Cluster {
	measured := rapid.IntRange(0, 3).Draw(t, "measured") > 0
	for _, c := range clusters {
		c.Status.ResourceSummary = nil
		if measured || rapid.Bool().Draw(t, "looked at") {
			free(c, "cpu", fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "free")))
		}
	}
	return clusters
}

// roomier is the input where something else is free in each cluster.
func roomier(t *rapid.T, in Input) Input {
	out := Input{Binding: in.Binding}
	for _, c := range in.Clusters {
		out.Clusters = append(out.Clusters, c.DeepCopy())
	}
	anyRoom(t, out.Clusters)
	return out
}

func TestAChangeOfRoomMovesNoReplica(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		first := Decide(in)
		if first.Unschedulable {
			return // what waits for room may find it
		}
		in.Binding.Spec.Clusters = first.Targets
		if diff := cmp.Diff(first.Targets, Decide(roomier(t, in)).Targets, equateEmpty); diff != "" {
			t.Fatalf("nothing but the room changed:\n%s", diff)
		}
	})
}

// What runs stays: where replicas are divided by room, no cluster has less of them than
// before unless less are wanted, and none gets more than fit into it.
func TestRoomIsForWhatIsAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		in.Binding.Spec.Placement.SpreadConstraints = nil
		if in.Binding.Spec.Replicas == 0 || !propagation.ByRoom(in.Binding.Spec.Placement) {
			return
		}
		was, d, held := map[string]int32{}, Decide(in), int32(0)
		for _, c := range in.Binding.Spec.Clusters {
			was[c.Name] = c.Replicas
		}
		for _, r := range d.Rooms {
			held += was[r.Cluster]
		}
		got := map[string]int32{}
		for _, target := range d.Targets {
			got[target.Name] = target.Replicas
		}
		known := true
		for _, r := range d.Rooms {
			known = known && r.Unknown == ""
		}
		var room int64
		for _, r := range d.Rooms {
			room += r.Replicas
			added := int64(got[r.Cluster] - was[r.Cluster])
			switch {
			case added < 0 && in.Binding.Spec.Replicas >= held:
				t.Fatalf("%s loses %d replicas, and %d are wanted where there are %d", r.Cluster, -added, in.Binding.Spec.Replicas, held)
			case added > 0 && in.Binding.Spec.Replicas <= held:
				t.Fatalf("%s gets %d replicas, and no more are wanted", r.Cluster, added)
			case added > 0 && known && added > r.Replicas:
				t.Fatalf("%s gets %d replicas, and has room for %d", r.Cluster, added, r.Replicas)
			}
		}
		if wanted := int64(in.Binding.Spec.Replicas - held); known && len(d.Rooms) > 0 && d.Unschedulable != (wanted > room) {
			t.Fatalf("unschedulable: %t, with room for %d where %d more are wanted", d.Unschedulable, room, wanted)
		}
	})
}

func TestReplicasSumUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		d := Decide(in)
		var sum int32
		for _, target := range d.Targets {
			if sum += target.Replicas; target.Replicas < 0 {
				t.Fatalf("%s gets %d replicas", target.Name, target.Replicas)
			}
		}
		if !d.Unschedulable && sum != in.Binding.Spec.Replicas {
			t.Fatalf("%v sum up to %d, want %d", d.Targets, sum, in.Binding.Spec.Replicas)
		}
	})
}

func TestOrderOfInputDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		again := Input{Clusters: rapid.Permutation(in.Clusters).Draw(t, "clusters"), Binding: &propagation.Binding{Spec: *in.Binding.Spec.DeepCopy()}}
		again.Binding.Spec.Clusters = rapid.Permutation(again.Binding.Spec.Clusters).Draw(t, "held")
		if diff := cmp.Diff(Decide(in), Decide(again)); diff != "" {
			t.Fatalf("another order, another decision:\n%s", diff)
		}
	})
}

func TestDecidingAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		first := Decide(in)
		in.Binding.Spec.Clusters = first.Targets
		if diff := cmp.Diff(first, Decide(in), equateEmpty); diff != "" {
			t.Fatalf("deciding again:\n%s", diff)
		}
	})
}

func TestAJoiningClusterMovesNoReplica(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		in.Binding.Spec.Placement.ReplicaScheduling.WeightPreference = nil
		d := Decide(in)
		in.Binding.Spec.Clusters = d.Targets
		if len(in.Binding.Spec.Clusters) == 0 || in.Binding.Spec.Replicas == 0 || d.Unschedulable {
			return
		}
		in.Clusters = append([]*clusterv1alpha1.Cluster{cluster("a-new-one")}, in.Clusters...)
		if diff := cmp.Diff(in.Binding.Spec.Clusters, Decide(in).Targets); diff != "" {
			t.Fatalf("a cluster joined:\n%s", diff)
		}
	})
}
