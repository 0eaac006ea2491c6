// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package carrying reads what a placement's binding propagates to its member, for the
// stage that renders it and for the one that proves that an object may leave.
//
// Invariants:
//   - Overrides see the member as the binding says, not as it is: what it has then changes
//     with the binding alone.
//   - Both read the same, so that no object is removed that the binding contains, and
//     none is kept that it does not contain.
//   - If a part of the snapshot or an override is missing, the result is
//     outcome.ErrGone: then what is propagated is not known.
//
// It must not decide.
package carrying

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/outcome"
)

// Hub reads the objects that bindings name.
type Hub interface {
	// ResourceSnapshotsOf returns snapshots without their content.
	ResourceSnapshotsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceSnapshot, error)
	ResourceSnapshot(ctx context.Context, name string) (*placementv1.ClusterResourceSnapshot, error)
	ClusterOverrideSnapshot(ctx context.Context, name string) (*placementv1.ClusterResourceOverrideSnapshot, error)
	NamespaceOverrideSnapshot(ctx context.Context, name types.NamespacedName) (*placementv1.ResourceOverrideSnapshot, error)
	Member(ctx context.Context, name string) (*memberclusterv1.MemberCluster, error)
}

// Load reads what the binding of the placement propagates.
func Load(ctx context.Context, hub Hub, placement string, b *placementv1.ClusterResourceBinding) (in rendering.Placed, err error) {
	in.Placement, in.Binding = placement, b
	if in.Parts, err = parts(ctx, hub, placement, b); err != nil {
		return in, err
	}
	for _, name := range b.Spec.ClusterResourceOverrideSnapshots {
		o, err := hub.ClusterOverrideSnapshot(ctx, name)
		if err != nil {
			return in, fmt.Errorf("get the override %s: %w", name, err)
		}
		in.ClusterOverrides = append(in.ClusterOverrides, o)
	}
	for _, name := range b.Spec.ResourceOverrideSnapshots {
		o, err := hub.NamespaceOverrideSnapshot(ctx, types.NamespacedName{Namespace: name.Namespace, Name: name.Name})
		if err != nil {
			return in, fmt.Errorf("get the override %s/%s: %w", name.Namespace, name.Name, err)
		}
		in.Overrides = append(in.Overrides, o)
	}
	in.Labels, err = labels(ctx, hub, b, in.KeysSeen())
	return in, err
}

// labels are those of the binding's member that overrides look at: as the binding says, and
// where it says nothing of one, as they are.
func labels(ctx context.Context, hub Hub, b *placementv1.ClusterResourceBinding, keys []string) (map[string]string, error) {
	noted := b.Spec.OverriddenFor
	if noted == nil {
		noted = &placementv1.OverriddenFor{}
	}
	keys = slices.DeleteFunc(keys, func(key string) bool {
		_, has := noted.Labels[key]
		return has || slices.Contains(noted.Lacks, key)
	})
	if len(keys) == 0 {
		return noted.Labels, nil
	}
	m, err := hub.Member(ctx, b.Spec.TargetCluster)
	if err != nil {
		return nil, fmt.Errorf("get member %s: %w", b.Spec.TargetCluster, err)
	}
	all := map[string]string{}
	maps.Copy(all, noted.Labels)
	for _, key := range keys {
		if value, has := m.Labels[key]; has {
			all[key] = value
		}
	}
	return all, nil
}

// parts returns the parts of the snapshot that the binding names, with their content.
func parts(ctx context.Context, hub Hub, placement string, b *placementv1.ClusterResourceBinding) ([]*placementv1.ClusterResourceSnapshot, error) {
	all, err := hub.ResourceSnapshotsOf(ctx, placement)
	if err != nil {
		return nil, fmt.Errorf("list the snapshots of placement %s: %w", placement, err)
	}
	var out []*placementv1.ClusterResourceSnapshot
	for _, name := range rendering.PartsOf(b, all) {
		part, err := hub.ResourceSnapshot(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("get the snapshot %s: %w", name, err)
		}
		out = append(out, part)
	}
	if !rendering.WholeSnapshot(b, out) {
		return nil, fmt.Errorf("the snapshot %s is not whole: %w", b.Spec.ResourceSnapshotName, outcome.ErrGone)
	}
	if err := placing.Held(out); err != nil { // as if it were missing: the placer creates it again
		return nil, fmt.Errorf("%w: %w", err, outcome.ErrGone)
	}
	return out, nil
}
