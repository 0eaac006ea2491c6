// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package budget_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/budget"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling"
)

var (
	noon   = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	before = noon.Add(-time.Minute)
	past   = noon.Add(-budget.Window - time.Second)
)

// labelled is a cluster with the label tier=web, or without.
func labelled(name string, on bool) *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if on {
		c.Labels = map[string]string{"tier": "web"}
	}
	return c
}

func leaving(name string) *clusterv1alpha1.Cluster {
	c := labelled(name, false)
	c.DeletionTimestamp = &metav1.Time{Time: noon}
	return c
}

// web is a binding of what goes where the label tier=web is, scheduled on m1 and m2.
func web(change ...func(*propagation.Binding)) *propagation.Binding {
	b := &propagation.Binding{Key: propagation.BindingKey{Namespace: "shop", Name: "nginx-deployment"}}
	b.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}}}
	b, _ = budget.Of(b, []*clusterv1alpha1.Cluster{labelled("m1", true), labelled("m2", true)}).Schedule(propagation.BudgetIndirect, before)
	for _, c := range change {
		c(b)
	}
	return b
}

func removals(r map[string]propagation.Removal) func(*propagation.Binding) {
	return func(b *propagation.Binding) { *b = *b.WithRemovals(r) }
}

func onM1(r propagation.Removal) func(*propagation.Binding) {
	return removals(map[string]propagation.Removal{"m1": r})
}

// replaced is an edit of the placement: m1 is not wanted any more.
func replaced(b *propagation.Binding) {
	b.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}}}
}

// edited is an edit of the placement that has nothing to say of m1.
func edited(b *propagation.Binding) {
	b.Spec.Placement = b.Spec.Placement.DeepCopy()
	b.Spec.Placement.ClusterAffinity.ExcludeClusters = []string{"m9"}
}

// excluded is an edit of the placement that leaves m1 out by name.
func excluded(b *propagation.Binding) {
	b.Spec.Placement = b.Spec.Placement.DeepCopy()
	b.Spec.Placement.ClusterAffinity.ExcludeClusters = []string{"m1"}
}

// either is on m1, by its label, and goes to m2 where m1 is not to be had.
func either(b *propagation.Binding) {
	first := *b.Spec.Placement.ClusterAffinity
	first.ClusterNames = []string{"m1"}
	b.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{
		{AffinityName: "first", ClusterAffinity: first},
		{AffinityName: "second", ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}}},
	}}
	b.Annotations, b.Spec.Clusters = nil, b.Spec.Clusters[:1]
}

func divided(b *propagation.Binding) {
	b.Spec.Replicas = 4
	b.Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1", Replicas: 2}, {Name: "m2", Replicas: 2}}
	b.Annotations = nil // it was scheduled before anybody noted for what
}

func weighed(b *propagation.Binding) {
	divided(b)
	b.Spec.Placement.ReplicaScheduling.ReplicaDivisionPreference = policyv1alpha1.ReplicaDivisionPreferenceWeighted
	b.Spec.Placement.ReplicaScheduling.WeightPreference = &policyv1alpha1.ClusterPreferences{StaticWeightList: []policyv1alpha1.StaticClusterWeight{
		{TargetCluster: policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}}, Weight: 1},
	}}
	b.Spec.Placement.ClusterAffinity = nil
}

func evicting(b *propagation.Binding) {
	b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "m1"}}
}

func TestZ12WhatNobodyAskedForIsHeld(t *testing.T) {
	relabelled := []*clusterv1alpha1.Cluster{labelled("m1", false), labelled("m2", true)}
	back := []*clusterv1alpha1.Cluster{labelled("m1", true), labelled("m2", true)}
	held := map[string]propagation.Removal{"m1": {Held: noon}}
	heldBefore := propagation.Removal{Held: before}
	for name, tc := range map[string]struct {
		binding  *propagation.Binding
		clusters []*clusterv1alpha1.Cluster
		mode     propagation.RemovalBudget
		want     string
		removals map[string]propagation.Removal
		same     bool
	}{
		"Z12: a cluster that lost its label keeps the template":               {binding: web(), clusters: relabelled, want: "m1 m2", removals: held},
		"Z12: what is held stays as it is":                                    {binding: web(onM1(heldBefore)), clusters: relabelled, want: "m1 m2", removals: map[string]propagation.Removal{"m1": heldBefore}, same: true},
		"Z12: the label comes back, and nothing is held":                      {binding: web(onM1(heldBefore)), clusters: back, want: "m1 m2"},
		"Z12: what the budget let go goes, and is remembered":                 {binding: web(onM1(propagation.Removal{Held: before, Let: before})), clusters: relabelled, want: "m2", removals: map[string]propagation.Removal{"m1": {Left: before}}},
		"Z12: what a person let go goes":                                      {binding: web(onM1(propagation.Removal{Held: before, Approved: true})), clusters: relabelled, want: "m2"},
		"Z12: an approval is void once the label is back":                     {binding: web(onM1(propagation.Removal{Held: before, Approved: true})), clusters: back, want: "m1 m2"},
		"Z12: what left and came back is held anew":                           {binding: web(onM1(propagation.Removal{Left: before})), clusters: relabelled, want: "m1 m2", removals: map[string]propagation.Removal{"m1": {Held: noon, Left: before}}},
		"Z12: an edit of the placement passes":                                {binding: web(replaced), clusters: back, want: "m2"},
		"Z12: unless the gate says all":                                       {binding: web(replaced), clusters: back, mode: propagation.BudgetAll, want: "m1 m2", removals: held},
		"Z12: an edit of the placement does not take along what is held":      {binding: web(onM1(heldBefore), edited), clusters: relabelled, want: "m1 m2", removals: map[string]propagation.Removal{"m1": heldBefore}},
		"Z12: unless the placement leaves the cluster out by name":            {binding: web(onM1(heldBefore), excluded), clusters: relabelled, want: "m2"},
		"Z12: or names the others alone":                                      {binding: web(onM1(heldBefore), replaced), clusters: relabelled, want: "m2"},
		"Z12: which the gate holds, too":                                      {binding: web(onM1(heldBefore), excluded), clusters: relabelled, mode: propagation.BudgetAll, want: "m1 m2", removals: map[string]propagation.Removal{"m1": heldBefore}},
		"Z12: another term that names others is no wish to leave":             {binding: web(either), clusters: relabelled, want: "m1", removals: held},
		"Z12: without a budget everything passes":                             {binding: web(), clusters: relabelled, mode: propagation.BudgetOff, want: "m2"},
		"Z12: without a budget goes what was held":                            {binding: web(onM1(heldBefore)), clusters: relabelled, mode: propagation.BudgetOff, want: "m2"},
		"Z12: an approval that cannot be read is none":                        {binding: web(func(b *propagation.Binding) { b.Annotations[propagation.AnnotationRemovals] = `{"m1":"yes"}` }), clusters: relabelled, want: "m1 m2", removals: held},
		"Z12: of a binding that does not say what it was scheduled for, too":  {binding: web(func(b *propagation.Binding) { b.Annotations = nil }), clusters: relabelled, want: "m1 m2", removals: held},
		"a cluster that is gone has no budget":                                {binding: web(), clusters: relabelled[1:], want: "m2"},
		"nor has one that is leaving":                                         {binding: web(), clusters: []*clusterv1alpha1.Cluster{leaving("m1"), relabelled[1]}, want: "m2"},
		"what is held stops being held where the cluster leaves":              {binding: web(onM1(heldBefore)), clusters: []*clusterv1alpha1.Cluster{leaving("m1"), relabelled[1]}, want: "m2"},
		"nor one that the template is evicted from":                           {binding: web(evicting), clusters: back, want: "m2"},
		"a placement that nothing satisfies moves nothing and holds nothing":  {binding: web(), clusters: []*clusterv1alpha1.Cluster{labelled("m1", false), labelled("m2", false)}, want: "m1 m2", same: true},
		"replicas that are divided stay where they are":                       {binding: web(divided), clusters: relabelled, want: "m1:2 m2:2", removals: held},
		"a cluster without a weight any more keeps what it has":               {binding: web(weighed), clusters: relabelled, want: "m1:2 m2:4", removals: held},
		"what has not changed is not written, of whatever version it is from": {binding: web(func(b *propagation.Binding) { b.Annotations = nil }), clusters: back, want: "m1 m2", same: true},
	} {
		t.Run(name, func(t *testing.T) {
			next, _ := budget.Of(tc.binding, tc.clusters).Schedule(tc.mode, noon)
			var got []string
			for _, c := range next.Spec.Clusters {
				one := c.Name
				if c.Replicas > 0 {
					one += fmt.Sprint(":", c.Replicas)
				}
				got = append(got, one)
			}
			if s := strings.Join(got, " "); s != tc.want {
				t.Errorf("on %s, want %s", s, tc.want)
			}
			if diff := cmp.Diff(tc.removals, next.Removals()); diff != "" {
				t.Errorf("removals (-want +got):\n%s", diff)
			}
			if tc.same != (next == tc.binding) {
				t.Errorf("written: %t", next != tc.binding)
			}
			// Whoever looks at the binding finds it settled, and scheduled again it stays.
			if !scheduling.Settled(scheduling.Input{Binding: next, Clusters: tc.clusters}) {
				t.Error("it is not settled")
			}
			if again, _ := budget.Of(next, tc.clusters).Schedule(tc.mode, noon.Add(time.Second)); again != next {
				t.Errorf("scheduled again, it is %v", again.Annotations)
			}
		})
	}
}

// An edit that changes no cluster is noted: the next change of a label is nobody's
// wish.
func TestZ12AnEditThatMovesNothingIsNoExcuse(t *testing.T) {
	b := web(func(b *propagation.Binding) { b.Spec.Placement.ClusterAffinity.ExcludeClusters = []string{"m9"} })
	b, _ = budget.Of(b, []*clusterv1alpha1.Cluster{labelled("m1", true), labelled("m2", true)}).Schedule(propagation.BudgetIndirect, before)
	b, _ = budget.Of(b, []*clusterv1alpha1.Cluster{labelled("m1", false), labelled("m2", true)}).Schedule(propagation.BudgetIndirect, noon)
	if !b.HoldsRemoval("m1") || len(b.Spec.Clusters) != 2 {
		t.Errorf("on %v, held %v", b.Spec.Clusters, b.HeldRemovals())
	}
}

// work is the Work of web in a cluster.
func work(cluster string, change ...func(*propagation.Work)) *propagation.Work {
	w := &propagation.Work{Key: propagation.WorkKey{Cluster: cluster, Name: "any"}, Annotations: map[string]string{
		propagation.AnnotationBindingNamespace: "shop", propagation.AnnotationBindingName: "nginx-deployment", propagation.AnnotationTemplateUID: "uid-1",
	}}
	w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"spec":{"replicas":3}}`)}}}
	for _, c := range change {
		c(w)
	}
	return w
}

func annotated(key, value string) func(*propagation.Work) {
	return func(w *propagation.Work) { w.Annotations[key] = value }
}

func TestZ12ABindingMadeAnewKnowsWhereItsTemplateIs(t *testing.T) {
	remade := func(change ...func(*propagation.Binding)) *propagation.Binding {
		b := web()
		b.UID, b.Annotations, b.Spec.Clusters, b.Spec.Resource.UID = "new", nil, nil, "uid-1"
		for _, c := range change {
			c(b)
		}
		return b
	}
	four := func(b *propagation.Binding) {
		b.Spec.Replicas = 4
		b.Spec.Placement = b.Spec.Placement.DeepCopy()
		b.Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}
	}
	one := func(w *propagation.Work) { w.Spec.Workload.Manifests[0].Raw = []byte(`{"spec":{"replicas":1}}`) }
	relabelled := []*clusterv1alpha1.Cluster{labelled("m1", false), labelled("m2", true)}
	back := []*clusterv1alpha1.Cluster{labelled("m1", true), labelled("m2", true)}
	tainted := []*clusterv1alpha1.Cluster{labelled("m1", true), labelled("m2", true)}
	tainted[0].Spec.Taints = []corev1.Taint{{Key: "busy", Effect: corev1.TaintEffectNoSchedule}}
	none := []*clusterv1alpha1.Cluster{labelled("m1", false), labelled("m2", false)}
	for name, tc := range map[string]struct {
		binding  *propagation.Binding
		works    []*propagation.Work
		clusters []*clusterv1alpha1.Cluster
		want     string
		held     string
	}{
		"while the label is off, the cluster keeps it":            {works: []*propagation.Work{work("m1"), work("m2")}, clusters: relabelled, want: "m1 m2", held: "m1"},
		"with the label it goes where it was":                     {works: []*propagation.Work{work("m1"), work("m2")}, clusters: back, want: "m1 m2"},
		"a taint that only keeps new ones off takes nothing away": {works: []*propagation.Work{work("m1"), work("m2")}, clusters: tainted, want: "m1 m2"},
		"and keeps a new one off":                                 {clusters: tainted, want: "m2"},
		"where nothing satisfies the placement, it stays":         {works: []*propagation.Work{work("m1"), work("m2")}, clusters: none, want: "m1 m2"},
		"replicas stay where they are":                            {binding: remade(four), works: []*propagation.Work{work("m1"), work("m2", one)}, clusters: back, want: "m1:3 m2:1"},
		"a new template was nowhere":                              {clusters: relabelled, want: "m2"},
		"the Work of a former template is not its own":            {works: []*propagation.Work{work("m1", annotated(propagation.AnnotationTemplateUID, "uid-0"))}, clusters: relabelled, want: "m2"},
		"nor that of another binding":                             {works: []*propagation.Work{work("m1", annotated(propagation.AnnotationBindingName, "other"))}, clusters: relabelled, want: "m2"},
		"nor one that followed others there":                      {works: []*propagation.Work{work("m1", annotated(propagation.AnnotationDependency, "true"))}, clusters: relabelled, want: "m2"},
		"what leaves already leaves":                              {works: []*propagation.Work{work("m1", func(w *propagation.Work) { w.Deleting = true })}, clusters: relabelled, want: "m2"},
		"where others need it, it is theirs": {
			binding: remade(func(b *propagation.Binding) {
				b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}}}}
			}),
			works: []*propagation.Work{work("m1")}, clusters: relabelled, want: "m2",
		},
	} {
		t.Run("Z12: "+name, func(t *testing.T) {
			b := tc.binding
			if b == nil {
				b = remade()
			}
			next, _ := budget.Remade(b, tc.works, tc.clusters).Schedule(propagation.BudgetIndirect, noon)
			var got []string
			for _, c := range next.Spec.Clusters {
				one := c.Name
				if c.Replicas > 0 {
					one += fmt.Sprint(":", c.Replicas)
				}
				got = append(got, one)
			}
			if s := strings.Join(got, " "); s != tc.want {
				t.Errorf("on %s, want %s", s, tc.want)
			}
			if s := strings.Join(next.HeldRemovals(), " "); s != tc.held {
				t.Errorf("held on %q, want %q", s, tc.held)
			}
			if next == b || len(b.Spec.Clusters) > 0 {
				t.Error("it is not written, or what was read was changed")
			}
		})
	}
}

func TestZ12Limit(t *testing.T) {
	for has, want := range map[int]int{0: 10, 50: 10, 54: 10, 55: 11, 1000: 200} {
		if got := budget.Limit(has); got != want {
			t.Errorf("of %d objects %d may leave, want %d", has, got, want)
		}
	}
}

func TestZ12TheWholeIsJudged(t *testing.T) {
	clusters := func(m1 bool, says metav1.ConditionStatus) []*clusterv1alpha1.Cluster {
		c := labelled("m1", m1)
		if says != "" {
			c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ConditionRemovalHeld, Status: says}}
		}
		return []*clusterv1alpha1.Cluster{c, labelled("m2", true)}
	}
	of := func(n int, change ...func(*propagation.Binding)) []*propagation.Binding {
		var out []*propagation.Binding
		for i := range n {
			b := web(change...)
			b.Key.Name = fmt.Sprintf("app%d-%d", i, len(change))
			out = append(out, b)
		}
		return out
	}
	works := func(n int) []*propagation.Work {
		var out []*propagation.Work
		for range n {
			out = append(out, &propagation.Work{Key: propagation.WorkKey{Cluster: "m1"}})
		}
		return out
	}
	held := onM1(propagation.Removal{Held: before})
	gone := func(when time.Time) func(*propagation.Binding) {
		return func(b *propagation.Binding) {
			onM1(propagation.Removal{Left: when})(b)
			b.Spec.Clusters = b.Spec.Clusters[1:]
		}
	}
	for name, tc := range map[string]struct {
		bindings [][]*propagation.Binding
		mode     propagation.RemovalBudget
		says     metav1.ConditionStatus
		has      int
		over     bool
	}{
		"ten may go":                              {bindings: [][]*propagation.Binding{of(10, held)}},
		"eleven stay":                             {bindings: [][]*propagation.Binding{of(11, held)}, over: true},
		"eleven of a hundred may go":              {bindings: [][]*propagation.Binding{of(11, held)}, has: 100},
		"one of twelve says so, and all stay":     {bindings: [][]*propagation.Binding{of(1, held), of(11)}, over: true},
		"ten after one that has left stay":        {bindings: [][]*propagation.Binding{of(10, held), of(1, gone(before))}, over: true},
		"ten after one that left long ago go":     {bindings: [][]*propagation.Binding{of(10, held), of(1, gone(past))}},
		"ten beside one on its way stay":          {bindings: [][]*propagation.Binding{of(10, held), of(1, onM1(propagation.Removal{Held: before, Let: before}))}, over: true},
		"what a person let go counts for none":    {bindings: [][]*propagation.Binding{of(10, held), of(20, onM1(propagation.Removal{Held: before, Approved: true}))}},
		"what was held stays held":                {bindings: [][]*propagation.Binding{of(1, held)}, says: metav1.ConditionTrue, over: true},
		"what was held and let go is over":        {bindings: [][]*propagation.Binding{of(1, held)}, says: metav1.ConditionFalse},
		"without a budget everything may go":      {bindings: [][]*propagation.Binding{of(11, held)}, mode: propagation.BudgetOff, says: metav1.ConditionTrue},
		"nothing is held and the Cluster says so": {says: metav1.ConditionTrue},
	} {
		t.Run("Z12: "+name, func(t *testing.T) {
			w := budget.World{Clusters: clusters(false, tc.says), Mode: tc.mode, Now: noon}
			for _, some := range tc.bindings {
				w.Bindings = append(w.Bindings, some...)
			}
			if w.Quiet() {
				t.Fatal("it is quiet")
			}
			members := w.Members(works(tc.has))
			if len(members) != 1 || members[0].Cluster != "m1" {
				t.Fatalf("members %v", members)
			}
			m := members[0]
			if m.Over(tc.mode) != tc.over {
				t.Errorf("over: %t; held %d, coming %d, recent %d", !tc.over, len(m.Held), m.Coming, m.Recent)
			}
			c := m.Condition(tc.mode)
			if (c.Status == metav1.ConditionTrue) != tc.over || tc.over && !strings.Contains(c.Message, "approve m1") {
				t.Errorf("it says %s: %s", c.Status, c.Message)
			}
		})
	}
	quiet := budget.World{Clusters: clusters(false, metav1.ConditionFalse), Bindings: of(3, gone(before)), Now: noon}
	if !quiet.Quiet() {
		t.Error("what has left is not quiet")
	}
}
