// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/redis/pending"
)

// Placements reads and writes placements.
type Placements interface {
	Placement(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error)
	Placements(ctx context.Context) ([]*placementv1.ClusterResourcePlacement, error)
	CommitPlacement(ctx context.Context, old, next *placementv1.ClusterResourcePlacement) (*placementv1.ClusterResourcePlacement, error)
	CommitPlacementStatus(ctx context.Context, p *placementv1.ClusterResourcePlacement, status placementv1.ClusterResourcePlacementStatus) (*placementv1.ClusterResourcePlacement, error)
	PlacementBindingsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error)
	// PlacementsRetired reports whether the kind ClusterResourcePlacement is being
	// removed, and all of them with it.
	PlacementsRetired(ctx context.Context) (bool, error)
}

// Snapshots reads and writes the snapshots of placements.
type Snapshots interface {
	// ResourceSnapshotsOf returns snapshots without their content.
	ResourceSnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceSnapshot, error)
	ResourceSnapshot(ctx context.Context, name string) (*placementv1.ClusterResourceSnapshot, error)
	CommitResourceSnapshot(ctx context.Context, old, next *placementv1.ClusterResourceSnapshot) (*placementv1.ClusterResourceSnapshot, error)
	DeleteResourceSnapshot(ctx context.Context, s *placementv1.ClusterResourceSnapshot) error
	PolicySnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error)
	CommitPolicySnapshot(ctx context.Context, old, next *placementv1.ClusterSchedulingPolicySnapshot) (*placementv1.ClusterSchedulingPolicySnapshot, error)
	DeletePolicySnapshot(ctx context.Context, s *placementv1.ClusterSchedulingPolicySnapshot) error
}

// Objects reads the selected objects.
type Objects interface {
	Template(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
	ListTemplates(ctx context.Context, gvk schema.GroupVersionKind, namespace string, limit int64, cont string) ([]*propagation.Template, string, error)
	// Defined returns when the kind's CustomResourceDefinition was made; zero: it has
	// none. outcome.ErrNotServed: it is being deleted, or gone.
	Defined(ctx context.Context, gvk schema.GroupVersionKind) (time.Time, error)
	// Namespaced reports whether objects of the kind are in namespaces.
	// outcome.ErrNotServed: the hub does not serve it.
	Namespaced(gvk schema.GroupVersionKind) (bool, error)
	// KindsInNamespaces returns the namespaced kinds that the hub serves.
	KindsInNamespaces(ctx context.Context) ([]schema.GroupVersionKind, error)
}

// Hub is the control plane's API.
type Hub interface {
	Placements
	Snapshots
	Objects
	Record(ctx context.Context, about hub.About, eventType, reason, message string)
}

// Pending stores which objects changed since placements were last selected.
type Pending interface {
	Note(ctx context.Context, placements []string, key propagation.TemplateKey, now time.Time) error
	States(ctx context.Context) (map[string]pending.State, error)
	Take(ctx context.Context, placement string) (pending.Taken, error)
	Done(ctx context.Context, placement string, t pending.Taken, selected string, last time.Time) error
	Forget(ctx context.Context, placement string) error
}

// Remind sends placement.touched for the placement after a while.
type Remind func(ctx context.Context, placement string, in time.Duration)
