// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

const success = "Binding has been scheduled successfully."

func cluster(name string) *clusterv1alpha1.Cluster {
	return &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// fleet are member1 to memberN.
func fleet(n int) []*clusterv1alpha1.Cluster {
	var out []*clusterv1alpha1.Cluster
	for i := range n {
		out = append(out, cluster(fmt.Sprintf("member%d", i+1)))
	}
	return out
}

func names(n ...string) *policyv1alpha1.ClusterAffinity {
	return &policyv1alpha1.ClusterAffinity{ClusterNames: n}
}

func on(name string, replicas int32) workv1alpha2.TargetCluster {
	return workv1alpha2.TargetCluster{Name: name, Replicas: replicas}
}

type targets = []workv1alpha2.TargetCluster

func TestDecideClusters(t *testing.T) {
	term := func(name string, clusters ...string) policyv1alpha1.ClusterAffinityTerm {
		return policyv1alpha1.ClusterAffinityTerm{AffinityName: name, ClusterAffinity: *names(clusters...)}
	}
	atMost := func(least, most int) []policyv1alpha1.SpreadConstraint {
		return []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByFieldCluster, MinGroups: least, MaxGroups: most}}
	}
	for name, tc := range map[string]struct {
		spec     workv1alpha2.ResourceBindingSpec
		clusters []*clusterv1alpha1.Cluster
		want     targets
		reason   string // empty: success
		message  string
		affinity string
	}{
		"without an affinity every cluster is a target": {
			spec:     workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{}},
			clusters: fleet(2), want: targets{on("member1", 0), on("member2", 0)}, message: success,
		},
		"without a placement too": {
			clusters: fleet(1), want: targets{on("member1", 0)}, message: success,
		},
		"a template that only follows others has no targets of its own": {
			spec:     workv1alpha2.ResourceBindingSpec{RequiredBy: []workv1alpha2.BindingSnapshot{{Name: "app"}}},
			clusters: fleet(2), message: "The template follows those that refer to it.",
		},
		"the named clusters are targets, sorted by name": {
			spec:     workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{ClusterAffinity: names("member3", "member1")}},
			clusters: fleet(3), want: targets{on("member1", 0), on("member3", 0)}, message: success,
		},
		"an unknown cluster beside known ones is told and hinders nothing": {
			spec:     workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{ClusterAffinity: names("member9", "member1", "alpha")}},
			clusters: fleet(2), want: targets{on("member1", 0)},
			message: "Binding has been scheduled successfully; alpha is not joined; member9 is not joined.",
		},
		"an unknown cluster alone fits nothing": {
			spec: workv1alpha2.ResourceBindingSpec{
				Clusters:  targets{on("member1", 0)},
				Placement: &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"member9", "member2"}, ExcludeClusters: []string{"member2"}}},
			},
			clusters: fleet(2), reason: workv1alpha2.ReasonNoClusterFit,
			message: "0/2 clusters are available: member9 is not joined; member1 is not in clusterNames; member2 is excluded",
		},
		"a cluster is not left out where a name beside it is not joined": {
			spec: workv1alpha2.ResourceBindingSpec{
				Clusters:  targets{on("member1", 0), on("member2", 0)},
				Placement: &policyv1alpha1.Placement{ClusterAffinity: names("member1", "membr2")},
			},
			clusters: fleet(3), want: targets{on("member1", 0), on("member2", 0)}, reason: workv1alpha2.ReasonUnschedulable,
			message: "clusterNames names what is not joined (membr2) and would take the template from member2; it stays where it is: correct the name, or take it out",
		},
		"nor is one left out where a weight beside its own is for who is not joined": {
			spec: workv1alpha2.ResourceBindingSpec{
				Replicas: 4, Clusters: targets{on("member1", 2), on("member2", 2)},
				Placement: &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
					ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted,
					WeightPreference: &policyv1alpha1.ClusterPreferences{StaticWeightList: []policyv1alpha1.StaticClusterWeight{
						{TargetCluster: *names("member1"), Weight: 1}, {TargetCluster: *names("membr2"), Weight: 1},
					}},
				}},
			},
			clusters: fleet(2), want: targets{on("member1", 2), on("member2", 2)}, reason: workv1alpha2.ReasonUnschedulable,
			message: "staticWeightList names what is not joined (membr2) and would take the replicas from member2; they stay where they are: correct the name, or take it out",
		},
		"who would lose replicas is told in the order of the names, whatever that of the binding is": {
			spec: workv1alpha2.ResourceBindingSpec{
				Replicas: 1, Clusters: targets{on("member2", 1), on("member1", 1)},
				Placement: &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
					ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted,
					WeightPreference: &policyv1alpha1.ClusterPreferences{StaticWeightList: []policyv1alpha1.StaticClusterWeight{
						{TargetCluster: *names("member3"), Weight: 1}, {TargetCluster: *names("membr2"), Weight: 1},
					}},
				}},
			},
			clusters: fleet(3), want: targets{on("member1", 1), on("member2", 1)}, reason: workv1alpha2.ReasonUnschedulable,
			message: "staticWeightList names what is not joined (membr2) and would take the replicas from member1, member2; they stay where they are: correct the name, or take it out",
		},
		"nor does another group get it for the misspelled name of the first": {
			spec: workv1alpha2.ResourceBindingSpec{
				Clusters:  targets{on("member1", 0)},
				Placement: &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{term("near", "membr1"), term("far", "member2")}},
			},
			clusters: fleet(2), want: targets{on("member1", 0)}, reason: workv1alpha2.ReasonUnschedulable,
			message: "clusterNames names what is not joined (membr1) and would take the template from member1; it stays where it is: correct the name, or take it out",
		},
		"what a later group names is given back to the first, whoever is missing there": {
			spec: workv1alpha2.ResourceBindingSpec{
				Clusters:  targets{on("member2", 0)},
				Placement: &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{term("near", "member1", "gone"), term("far", "member2")}},
			},
			clusters: fleet(2), want: targets{on("member1", 0)}, affinity: "near",
			message: "Binding has been scheduled successfully; gone is not joined.",
		},
		"who is excluded by name leaves, whoever else is missing": {
			spec: workv1alpha2.ResourceBindingSpec{
				Clusters:  targets{on("member1", 0), on("member2", 0)},
				Placement: &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"member1", "gone"}, ExcludeClusters: []string{"member2"}}},
			},
			clusters: fleet(2), want: targets{on("member1", 0)},
			message: "Binding has been scheduled successfully; gone is not joined.",
		},
		"a cluster that left the fleet keeps nothing for the name of another": {
			spec: workv1alpha2.ResourceBindingSpec{
				Clusters:  targets{on("member1", 0), on("member3", 0)},
				Placement: &policyv1alpha1.Placement{ClusterAffinity: names("member1", "gone")},
			},
			clusters: fleet(2), want: targets{on("member1", 0)},
			message: "Binding has been scheduled successfully; gone is not joined.",
		},
		"without a missing name a cluster is left out": {
			spec: workv1alpha2.ResourceBindingSpec{
				Clusters:  targets{on("member1", 0), on("member2", 0)},
				Placement: &policyv1alpha1.Placement{ClusterAffinity: names("member1")},
			},
			clusters: fleet(2), want: targets{on("member1", 0)}, message: success,
		},
		"no cluster at all": {
			clusters: nil, reason: workv1alpha2.ReasonNoClusterFit, message: "0/0 clusters are available",
		},
		"a long list of refusals is cut": {
			spec:     workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{ClusterAffinity: names("x")}},
			clusters: fleet(12), reason: workv1alpha2.ReasonNoClusterFit,
			message: "0/12 clusters are available: x is not joined; member1 is not in clusterNames; member10 is not in clusterNames; member11 is not in clusterNames; member12 is not in clusterNames; member2 is not in clusterNames; member3 is not in clusterNames; member4 is not in clusterNames; member5 is not in clusterNames; member6 is not in clusterNames; and 3 more",
		},
		"the first group that fits is used": {
			spec:     workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{term("near", "gone"), term("far", "member2"), term("farther", "member1")}}},
			clusters: fleet(2), want: targets{on("member2", 0)}, message: success, affinity: "far",
		},
		"where no group fits, each says why": {
			spec:     workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{term("near", "gone"), term("far", "lost")}}},
			clusters: fleet(1), reason: workv1alpha2.ReasonNoClusterFit,
			message: "near: 0/1 clusters are available: gone is not joined; member1 is not in clusterNames | far: 0/1 clusters are available: lost is not joined; member1 is not in clusterNames",
		},
		"at most so many clusters, and those that have it first": {
			spec: workv1alpha2.ResourceBindingSpec{
				Clusters:  targets{on("member3", 0)},
				Placement: &policyv1alpha1.Placement{SpreadConstraints: atMost(1, 2)},
			},
			clusters: fleet(4), want: targets{on("member1", 0), on("member3", 0)}, message: success,
		},
		"fewer than the constraint wants change nothing": {
			spec: workv1alpha2.ResourceBindingSpec{
				Clusters:  targets{on("member2", 0), on("member1", 0)},
				Placement: &policyv1alpha1.Placement{SpreadConstraints: atMost(2, 3), ClusterAffinity: names("member1")},
			},
			clusters: fleet(2), want: targets{on("member1", 0), on("member2", 0)}, reason: workv1alpha2.ReasonUnschedulable,
			message: "1/2 clusters are available, the spread constraint wants at least 2: member2 is not in clusterNames",
		},
		"a group with too few clusters gives way to the next": {
			spec: workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{
				SpreadConstraints: atMost(2, 0), ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{term("one", "member1"), term("two", "member2", "member3")},
			}},
			clusters: fleet(3), want: targets{on("member2", 0), on("member3", 0)}, message: success, affinity: "two",
		},
		"suspended scheduling leaves the targets": {
			spec:     workv1alpha2.ResourceBindingSpec{Clusters: targets{on("member2", 0)}, Suspension: &workv1alpha2.Suspension{Scheduling: new(true)}},
			clusters: fleet(3), want: targets{on("member2", 0)}, reason: ReasonSuspended, message: "Scheduling of the binding is suspended.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Input{Binding: &propagation.Binding{Spec: tc.spec}, Clusters: tc.clusters})
			if diff := cmp.Diff(tc.want, d.Targets, equateEmpty); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
			want := metav1.Condition{Type: "Scheduled", Status: "True", Reason: "Success", Message: tc.message}
			if tc.reason != "" {
				want.Status, want.Reason = "False", tc.reason
			}
			if diff := cmp.Diff(want, d.Condition); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
			if d.Affinity != tc.affinity || d.Unschedulable != (tc.reason != "") {
				t.Errorf("affinity %q, unschedulable %v", d.Affinity, d.Unschedulable)
			}
		})
	}
}

func TestDecideReplicas(t *testing.T) {
	weight := func(n int64, clusters ...string) policyv1alpha1.StaticClusterWeight {
		return policyv1alpha1.StaticClusterWeight{TargetCluster: *names(clusters...), Weight: n}
	}
	static := func(list ...policyv1alpha1.StaticClusterWeight) *policyv1alpha1.ReplicaSchedulingStrategy {
		return &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType:     policyv1alpha1.ReplicaSchedulingTypeDivided,
			ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted,
			WeightPreference:          &policyv1alpha1.ClusterPreferences{StaticWeightList: list},
		}
	}
	dynamic := static(weight(9, "member1"))
	dynamic.WeightPreference.DynamicWeight = policyv1alpha1.DynamicWeightByAvailableReplicas
	even := &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}
	aggregated := &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceAggregated}
	duplicated := &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDuplicated}

	for name, tc := range map[string]struct {
		replicas int32
		strategy *policyv1alpha1.ReplicaSchedulingStrategy
		held     targets
		clusters int
		want     targets
	}{
		"each cluster gets all by default":                  {3, nil, nil, 2, targets{on("member1", 3), on("member2", 3)}},
		"each cluster gets all when duplicated":             {3, duplicated, nil, 2, targets{on("member1", 3), on("member2", 3)}},
		"without replicas there is nothing to divide":       {0, even, nil, 2, targets{on("member1", 0), on("member2", 0)}},
		"an even share, the rest to the first":              {5, even, nil, 3, targets{on("member1", 2), on("member2", 2), on("member3", 1)}},
		"fewer replicas than clusters: the others are none": {2, even, nil, 3, targets{on("member1", 1), on("member2", 1)}},
		"by weight": {6, static(weight(1, "member1"), weight(2, "member2")), nil, 2, targets{on("member1", 2), on("member2", 4)}},
		"by weight, the rest to the largest remainder":          {4, static(weight(1, "member1"), weight(2, "member2")), nil, 2, targets{on("member1", 1), on("member2", 3)}},
		"the greatest of several weights counts":                {6, static(weight(1), weight(2, "member2")), nil, 2, targets{on("member1", 2), on("member2", 4)}},
		"a cluster without a weight gets none":                  {6, static(weight(1, "member2")), nil, 2, targets{on("member2", 6)}},
		"weights that select nobody count as equal":             {6, static(weight(5, "member9")), nil, 2, targets{on("member1", 3), on("member2", 3)}},
		"a weight for who is not joined takes nothing away":     {6, static(weight(1, "member1"), weight(1, "membr2")), targets{on("member1", 3), on("member2", 3)}, 3, targets{on("member1", 3), on("member2", 3)}},
		"nor keeps it a replica from who never had one":         {4, static(weight(1, "member1"), weight(1, "membr2")), targets{on("member1", 2), on("member2", 0)}, 2, targets{on("member1", 4)}},
		"a cluster that lost its weight leaves":                 {6, static(weight(1, "member2"), weight(1, "member3")), targets{on("member1", 6)}, 3, targets{on("member2", 3), on("member3", 3)}},
		"huge weights do not overflow":                          {1<<31 - 1, static(weight(1<<62, "member1"), weight(1<<62, "member2")), nil, 2, targets{on("member1", 1<<30), on("member2", 1<<30-1)}},
		"a changed weight moves replicas":                       {6, static(weight(1, "member1"), weight(2, "member2")), targets{on("member1", 4), on("member2", 2)}, 2, targets{on("member1", 2), on("member2", 4)}},
		"dynamic weights fall back to an even share":            {4, dynamic, nil, 2, targets{on("member1", 2), on("member2", 2)}},
		"a cluster that joins moves nothing":                    {4, dynamic, targets{on("member1", 2), on("member2", 2)}, 3, targets{on("member1", 2), on("member2", 2)}},
		"growing fills up who has least":                        {6, even, targets{on("member1", 2), on("member2", 2)}, 3, targets{on("member1", 2), on("member2", 2), on("member3", 2)}},
		"shrinking takes from who has most":                     {4, even, targets{on("member1", 5), on("member2", 1)}, 2, targets{on("member1", 3), on("member2", 1)}},
		"what a lost cluster held goes to the others":           {6, even, targets{on("member1", 2), on("member2", 2), on("lost", 2)}, 2, targets{on("member1", 3), on("member2", 3)}},
		"aggregated goes to one cluster":                        {5, aggregated, nil, 3, targets{on("member1", 5)}},
		"aggregated grows where it is":                          {5, aggregated, targets{on("member2", 3)}, 3, targets{on("member2", 5)}},
		"aggregated shrinks where it has the least":             {7, aggregated, targets{on("member1", 1), on("member2", 6), on("member3", 2)}, 3, targets{on("member2", 6), on("member3", 1)}},
		"aggregated leaves what is elsewhere":                   {6, aggregated, targets{on("member2", 3), on("member3", 1)}, 3, targets{on("member2", 5), on("member3", 1)}},
		"as many replicas as can be are divided at once":        {1<<31 - 1, even, targets{on("member1", 7)}, 2, targets{on("member1", 1<<30), on("member2", 1<<30-1)}},
		"a negative number that somebody wrote counts as none":  {2, even, targets{on("member1", -5)}, 2, targets{on("member1", 1), on("member2", 1)}},
		"a template scaled to nothing stays where it is":        {0, even, targets{on("member1", 2)}, 2, targets{on("member1", 0), on("member2", 0)}},
		"of equal remainders the one stays that has it already": {3, static(weight(1)), targets{on("member1", 1), on("member2", 2)}, 2, targets{on("member1", 1), on("member2", 2)}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &propagation.Binding{Spec: workv1alpha2.ResourceBindingSpec{
				Replicas: tc.replicas, Clusters: tc.held, Placement: &policyv1alpha1.Placement{ReplicaScheduling: tc.strategy},
			}}
			d := Decide(Input{Binding: b, Clusters: fleet(tc.clusters)})
			if diff := cmp.Diff(tc.want, d.Targets); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}
