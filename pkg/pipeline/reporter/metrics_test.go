// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
)

// A placement has one series: the first condition that is not True, and why.
func TestC104APlacementIsMeasuredByWhatIsNotTrue(t *testing.T) {
	p := &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "measured", Generation: 2}}
	t.Cleanup(func() { forget(p.Name) })
	scheduled := metav1.Condition{Type: "Scheduled", Status: metav1.ConditionTrue, Reason: "Fulfilled"}
	started := metav1.Condition{Type: "RolloutStarted", Status: metav1.ConditionFalse, Reason: "NotStartedYet"}
	for _, tc := range []struct {
		conditions []metav1.Condition
		want       []string
	}{
		{[]metav1.Condition{scheduled, started}, []string{"conditionType=RolloutStarted", "generation=2", "name=measured", "reason=NotStartedYet", "status=False"}},
		{[]metav1.Condition{scheduled}, []string{"conditionType=Completed", "generation=2", "name=measured", "reason=Completed", "status=True"}},
	} {
		measure(p, tc.conditions)
		if got := series(t, p.Name); len(got) != 1 || !slices.Equal(got[0], tc.want) {
			t.Errorf("series %v, want %v", got, tc.want)
		}
	}
}

// series returns the labels of each series of a placement.
func series(t *testing.T, placement string) (out [][]string) {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			if f.GetName() == "fleet_workload_placement_status_last_timestamp_seconds" && slices.Contains(labels, "name="+placement) {
				out = append(out, labels)
			}
		}
	}
	return out
}
