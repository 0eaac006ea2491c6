// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
)

// PlacementSummary is one line about a placement, from its status.
type PlacementSummary struct {
	Name     string   `json:"name"`
	Selected int      `json:"selected"`
	Snapshot string   `json:"snapshot,omitempty"`
	Clusters []string `json:"clusters"`
	// Applied and Available count clusters.
	Applied   int `json:"applied"`
	Available int `json:"available"`
	// Pending is the reason of the first stage that is not finished; empty: all are.
	Pending string `json:"pending,omitempty"`
	Message string `json:"message,omitempty"`
	// Suspended says in which clusters dispatching is suspended: "none", "all", or
	// names.
	Suspended string `json:"suspended"`
	// RolledBack is the index that it is rolled back to; empty: it is not.
	RolledBack string    `json:"rolledBack,omitempty"`
	Created    time.Time `json:"created,omitzero"`
}

// SummaryOfPlacement returns the summary of a placement.
func SummaryOfPlacement(p *placementv1.ClusterResourcePlacement) PlacementSummary {
	g := PlacementSummary{
		Name: p.Name, Selected: len(p.Status.SelectedResources), Snapshot: p.Status.ObservedResourceIndex, Created: p.CreationTimestamp.Time,
		Suspended: "none", RolledBack: p.Annotations[placing.AnnotationRollback], Clusters: []string{},
	}
	switch was := p.Annotations[propagation.AnnotationSuspended]; was {
	case "":
	case "true":
		g.Suspended = "all"
	default:
		g.Suspended = was
	}
	for _, m := range p.Status.PlacementStatuses {
		if m.ClusterName == "" || !meta.IsStatusConditionTrue(m.Conditions, placementv1.ConditionScheduled) {
			continue
		}
		g.Clusters = append(g.Clusters, m.ClusterName)
		if meta.IsStatusConditionTrue(m.Conditions, placementv1.ConditionApplied) {
			g.Applied++
		}
		if meta.IsStatusConditionTrue(m.Conditions, placementv1.ConditionAvailable) {
			g.Available++
		}
	}
	g.Pending, g.Message = pendingOf(p)
	return g
}

// pendingOf returns the first stage that is not finished.
func pendingOf(p *placementv1.ClusterResourcePlacement) (reason, message string) {
	for _, stage := range stages {
		c := meta.FindStatusCondition(p.Status.Conditions, stage)
		switch {
		case c == nil:
		case c.Status != metav1.ConditionTrue:
			return c.Reason, c.Message
		case c.ObservedGeneration < p.Generation:
			return placementv1.ReasonSchedulePending, "what it says is about an earlier version of it"
		}
	}
	if len(p.Status.Conditions) == 0 {
		return placementv1.ReasonSchedulePending, "nothing was told of it yet"
	}
	return "", ""
}
