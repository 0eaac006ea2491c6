// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

// What the status says of a cluster has to be written anew where nobody is about to tell
// of a Work there.
func TestAstray(t *testing.T) {
	works := func(all ...*propagation.Work) []*propagation.Work { return all }
	item := func(cluster string) workv1alpha2.AggregatedStatusItem {
		return workv1alpha2.AggregatedStatusItem{ClusterName: cluster, Applied: true}
	}
	stays := item("m3")
	stays.Applied, stays.AppliedMessage = false, messageOutdated
	for sentence, tc := range map[string]struct {
		says   []workv1alpha2.AggregatedStatusItem
		fully  string
		works  []*propagation.Work
		failed map[string]bool
		left   []string
		want   []string
	}{
		"all have a Work":                         {says: []workv1alpha2.AggregatedStatusItem{item("m1"), item("m2")}, works: works(made("m1"), made("m2"))},
		"a target has none yet: it will get one":  {says: []workv1alpha2.AggregatedStatusItem{item("m1"), item("m2")}, works: works(made("m1"))},
		"a target has none, for it has left":      {says: []workv1alpha2.AggregatedStatusItem{item("m1"), item("m2")}, works: works(made("m1")), left: []string{"m2"}, want: []string{"m2"}},
		"so it has, and the status says so":       {says: []workv1alpha2.AggregatedStatusItem{item("m1")}, works: works(made("m1")), left: []string{"m2"}},
		"what is no target has none":              {says: []workv1alpha2.AggregatedStatusItem{item("m1"), item("m3")}, works: works(made("m1")), want: []string{"m3"}},
		"the Work of a target cannot be made":     {says: []workv1alpha2.AggregatedStatusItem{item("m1"), item("m2")}, fully: workv1alpha2.ReasonFullyAppliedFailed, works: works(made("m1")), failed: map[string]bool{"m2": true}, want: []string{"m2"}},
		"so it is, and nothing says so":           {fully: workv1alpha2.ReasonFullyAppliedSuccess, failed: map[string]bool{"m2": true, "m1": true}, works: works(made("m1")), want: []string{"m2"}},
		"so it is, and the status says so":        {fully: workv1alpha2.ReasonFullyAppliedFailed, failed: map[string]bool{"m2": true}},
		"a target's Work is of earlier content":   {says: []workv1alpha2.AggregatedStatusItem{item("m1")}, works: works(made("m1", outdated))},
		"what is no target keeps earlier content": {says: []workv1alpha2.AggregatedStatusItem{item("m3")}, works: works(made("m3", outdated)), want: []string{"m3"}},
		"so it does, and the status says so":      {says: []workv1alpha2.AggregatedStatusItem{stays}, works: works(made("m3", outdated))},
		"so it does, and is being taken away":     {says: []workv1alpha2.AggregatedStatusItem{item("m3")}, works: works(made("m3", outdated, going))},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := bound("m1", "m2")
			b.Status.AggregatedStatus = tc.says
			if tc.fully != "" {
				b.Status.Conditions = []metav1.Condition{{Type: workv1alpha2.ConditionFullyApplied, Reason: tc.fully}}
			}
			if d := cmp.Diff(tc.want, Astray(b, tc.works, tc.failed, without(b, tc.left...))); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// without are the binding's clusters that are joined, where those have left.
func without(b *propagation.Binding, left ...string) []string {
	return slices.DeleteFunc(b.TargetClusters(), func(c string) bool { return slices.Contains(left, c) })
}
