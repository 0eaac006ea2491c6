// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/rollout/staged"
)

// PlacementRun is the state of a run of a staged update.
type PlacementRun struct {
	Name string `json:"name"`
	// Succeeded: it has ended, and everything was done.
	Succeeded bool   `json:"succeeded,omitempty"`
	Reason    string `json:"reason"`
	Message   string `json:"message,omitempty"`
}

func reportRun(r *placementv1.ClusterStagedUpdateRun) PlacementRun {
	if staged.Ended(r) {
		c := meta.FindStatusCondition(r.Status.Conditions, placementv1.ConditionSucceeded)
		return PlacementRun{r.Name, c.Status == metav1.ConditionTrue, c.Reason, c.Message}
	}
	for _, of := range []string{placementv1.ConditionProgressing, placementv1.ConditionInitialized} {
		c := meta.FindStatusCondition(r.Status.Conditions, of)
		switch {
		case c == nil:
		case of == placementv1.ConditionInitialized && staged.Initialized(r):
			return PlacementRun{r.Name, false, c.Reason, c.Message + ", when its spec.state is Run"}
		default:
			return PlacementRun{r.Name, false, c.Reason, c.Message}
		}
	}
	return PlacementRun{Name: r.Name, Reason: "Pending", Message: "nobody has looked at it yet"}
}
