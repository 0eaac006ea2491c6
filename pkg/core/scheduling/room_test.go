// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

// resources are name, quantity, name, quantity.
func resources(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

// free has that much of the cluster's nodes left, of a hundred and as much.
func free(c *clusterv1alpha1.Cluster, pairs ...string) *clusterv1alpha1.Cluster {
	left, s := resources(pairs...), clusterv1alpha1.ResourceSummary{Allocatable: resources(pairs...), Allocated: corev1.ResourceList{}}
	for name := range left {
		taken := resource.MustParse("100")
		q := s.Allocatable[name]
		q.Add(taken)
		s.Allocatable[name], s.Allocated[name] = q, taken
	}
	c.Status.ResourceSummary = &s
	return c
}

func requesting(pairs ...string) *workv1alpha2.ReplicaRequirements {
	return &workv1alpha2.ReplicaRequirements{ResourceRequest: resources(pairs...)}
}

func TestRoomIn(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster *clusterv1alpha1.Cluster
		needs   *workv1alpha2.ReplicaRequirements
		want    string
	}{
		"it is what fits into what is left": {
			cluster: free(cluster("a"), "cpu", "2"), needs: requesting("cpu", "300m"), want: "a has room for 6, by its cpu",
		},
		"of the resource that there is the least of": {
			cluster: free(cluster("a"), "cpu", "8", "memory", "3Gi"), needs: requesting("cpu", "1", "memory", "1Gi"), want: "a has room for 3, by its memory",
		},
		"nothing is left": {
			cluster: free(cluster("a"), "cpu", "0"), needs: requesting("cpu", "1m"), want: "a has room for 0, by its cpu",
		},
		"more is taken than there is": {
			cluster: &clusterv1alpha1.Cluster{Status: clusterv1alpha1.ClusterStatus{ResourceSummary: &clusterv1alpha1.ResourceSummary{Allocatable: resources("cpu", "1"), Allocated: resources("cpu", "2")}}},
			needs:   requesting("cpu", "1"), want: " has room for 0, by its cpu",
		},
		"pods count where they were counted": {
			cluster: free(cluster("a"), "cpu", "8", "pods", "5"), needs: requesting("cpu", "1"), want: "a has room for 5, by its pods",
		},
		"what is not measured does not count": {
			cluster: free(cluster("a"), "cpu", "8"), needs: requesting("cpu", "1", "example.com/gpu", "1"), want: "a has room for 8, by its cpu",
		},
		"a replica requests nothing": {
			cluster: free(cluster("a"), "cpu", "8"), want: "nobody can tell of a: a replica requests nothing that is measured",
		},
		"the cluster is not measured": {
			cluster: cluster("a"), needs: requesting("cpu", "1"), want: "nobody can tell of a: its nodes were not measured",
		},
		"its nodes are known, and not its pods": {
			cluster: &clusterv1alpha1.Cluster{Status: clusterv1alpha1.ClusterStatus{ResourceSummary: &clusterv1alpha1.ResourceSummary{Allocatable: resources("cpu", "1")}}},
			needs:   requesting("cpu", "1"), want: "nobody can tell of : its nodes were not measured",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := roomIn(tc.cluster, replicaRequests(tc.needs)).String(); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestDivideByRoom(t *testing.T) {
	// with has member1, member2 and so on, each with that much CPU left; empty: not measured.
	with := func(left ...string) []*clusterv1alpha1.Cluster {
		out := fleet(len(left))
		for i, cpu := range left {
			if cpu != "" {
				free(out[i], "cpu", cpu)
			}
		}
		return out
	}
	const few, weighted = policyv1alpha1.ReplicaDivisionPreferenceAggregated, policyv1alpha1.ReplicaDivisionPreferenceWeighted
	for name, tc := range map[string]struct {
		prefer   policyv1alpha1.ReplicaDivisionPreference
		replicas int32
		held     targets
		clusters []*clusterv1alpha1.Cluster
		most     int
		terms    []policyv1alpha1.ClusterAffinityTerm
		want     targets
		message  string // empty: success
	}{
		"new replicas are divided in proportion to the room": {
			prefer: weighted, replicas: 6, clusters: with("8", "4", "0"), want: targets{on("member1", 4), on("member2", 2)},
		},
		"what is added is, and what runs stays, however little room there is by now": {
			prefer: weighted, replicas: 9, held: targets{on("member1", 5), on("member2", 1)}, clusters: with("0", "2", "4"),
			want: targets{on("member1", 5), on("member2", 2), on("member3", 2)},
		},
		"a change of room alone moves nothing": {
			prefer: weighted, replicas: 6, held: targets{on("member1", 5), on("member2", 1)}, clusters: with("0", "100"),
			want: targets{on("member1", 5), on("member2", 1)},
		},
		"of fewer replicas each cluster gives its part": {
			prefer: weighted, replicas: 4, held: targets{on("member1", 9), on("member2", 3)}, clusters: with("0", "100"),
			want: targets{on("member1", 3), on("member2", 1)},
		},
		"that one's room is not known makes it even, as without any": {
			prefer: weighted, replicas: 6, clusters: with("8", ""), want: targets{on("member1", 3), on("member2", 3)},
		},
		"what does not fit stays as it is": {
			prefer: weighted, replicas: 9, held: targets{on("member1", 2)}, clusters: with("1", "2"), want: targets{on("member1", 2)},
			message: "2/2 clusters are available, and have room for 3 of 7 more replicas: member1 has room for 1, by its cpu; member2 has room for 2, by its cpu",
		},
		"what runs in a cluster that left needs room elsewhere": {
			prefer: weighted, replicas: 4, held: targets{on("member1", 2), on("member9", 2)}, clusters: with("0", "1"), want: targets{on("member1", 2), on("member9", 2)},
			message: "2/2 clusters are available, and have room for 1 of 2 more replicas: member1 has room for 0, by its cpu; member2 has room for 1, by its cpu",
		},
		"few clusters: the roomiest takes all": {
			prefer: few, replicas: 6, clusters: with("3", "8", "7"), want: targets{on("member2", 6)},
		},
		"few clusters: what it has no room for goes to the next": {
			prefer: few, replicas: 10, clusters: with("3", "7", "5"), want: targets{on("member2", 7), on("member3", 3)},
		},
		"few clusters: those that run it come first, and keep what they have": {
			prefer: few, replicas: 6, held: targets{on("member1", 3)}, clusters: with("2", "100"), want: targets{on("member1", 5), on("member2", 1)},
		},
		"few clusters: it does not fit": {
			prefer: few, replicas: 6, clusters: with("2", "3"),
			message: "2/2 clusters are available, and have room for 5 of 6 more replicas: member1 has room for 2, by its cpu; member2 has room for 3, by its cpu",
		},
		"few clusters: where nobody can tell, the first takes all": {
			prefer: few, replicas: 6, clusters: with("", "100"), want: targets{on("member1", 6)},
		},
		"of more clusters than may have it, those with more room are taken": {
			prefer: weighted, replicas: 6, most: 2, clusters: with("1", "4", "8"), want: targets{on("member2", 2), on("member3", 4)},
		},
		"and those that have it before them": {
			prefer: weighted, replicas: 3, held: targets{on("member1", 1)}, most: 1, clusters: with("1", "8"), want: targets{on("member1", 1)},
			message: "2/2 clusters are available, and have room for 1 of 2 more replicas: member1 has room for 1, by its cpu",
		},
		"no room in the first term is no reason to move to the second": {
			prefer: weighted, replicas: 3, held: targets{on("member1", 1)}, clusters: with("0", "8"), want: targets{on("member1", 1)},
			terms: []policyv1alpha1.ClusterAffinityTerm{
				{AffinityName: "near", ClusterAffinity: *names("member1")}, {AffinityName: "far", ClusterAffinity: *names("member2")},
			},
			message: "near: 1/2 clusters are available, and have room for 0 of 2 more replicas: member1 has room for 0, by its cpu; member2 is not in clusterNames",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &policyv1alpha1.Placement{ClusterAffinities: tc.terms, ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
				ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: tc.prefer,
				WeightPreference: &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas},
			}}
			if tc.most > 0 {
				p.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByFieldCluster, MaxGroups: tc.most}}
			}
			b := &propagation.Binding{Spec: workv1alpha2.ResourceBindingSpec{
				Replicas: tc.replicas, Clusters: tc.held, Placement: p, ReplicaRequirements: requesting("cpu", "1"),
			}}
			d := Decide(Input{Binding: b, Clusters: tc.clusters})
			if diff := cmp.Diff(tc.want, d.Targets, equateEmpty); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
			want := tc.message
			if want == "" {
				want = success
			}
			if d.Condition.Message != want || d.Unschedulable != (tc.message != "") {
				t.Errorf("unschedulable %t: %q, want %q", d.Unschedulable, d.Condition.Message, want)
			}
			if len(d.Rooms) == 0 {
				t.Error("it does not tell of the rooms")
			}
			b.Spec.Clusters = d.Targets
			if !Settled(Input{Binding: b, Clusters: tc.clusters}) {
				t.Error("it is not settled with what was decided")
			}
		})
	}
}
