// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/core/rollout"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// overridden stores an override that changed in a snapshot, and emits
// placement.scheduled for the placements that it names, or for all.
func (s *Stage) overridden(ctx context.Context, e event.Event, o events.Object) ([]event.Event, error) {
	var of *placementv1.PlacementRef
	var err error
	if name, ok := hub.ClusterOverrideKeyOf(o.TemplateKey); ok {
		of, err = s.clusterOverride(ctx, name)
	} else if key, ok := hub.NamespaceOverrideKeyOf(o.TemplateKey); ok {
		of, err = s.namespaceOverride(ctx, key)
	} else {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := events.From(Name, e)
	if of != nil {
		out.Emit(events.PlacementScheduled, events.Data{Placement: of.Name, Reason: "OverrideChanged"})
		return out.Events()
	}
	all, err := s.hub.Placements(ctx)
	if err != nil {
		return nil, fmt.Errorf("list placements: %w", err)
	}
	for _, p := range all {
		out.Emit(events.PlacementScheduled, events.Data{Placement: p.Name, Reason: "OverrideChanged"})
	}
	return out.Events()
}

// common returns the placement that all the stored forms of an override name, and the
// present one if there is one; nil: there are several, or nobody knows. An override that
// was deleted and made anew may name another placement, and the snapshots of the former
// one may be gone.
func common(stored []*placementv1.PlacementRef, present ...*placementv1.PlacementRef) *placementv1.PlacementRef {
	if len(stored) == 0 {
		return nil
	}
	for _, r := range slices.Concat(stored, present) {
		if r == nil || stored[0] == nil || r.Name != stored[0].Name {
			return nil
		}
	}
	return stored[0]
}

// clusterOverride stores an override without a namespace; of is the placement that all of
// its forms name. If the override is gone, its snapshots are deleted.
func (s *Stage) clusterOverride(ctx context.Context, name string) (of *placementv1.PlacementRef, err error) {
	stored, err := s.hub.ClusterOverrideSnapshotsOf(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("list snapshots of override %s: %w", name, err)
	}
	o, err := s.hub.ClusterOverride(ctx, name)
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return nil, fmt.Errorf("get override %s: %w", name, err)
	}
	refs, kept := make([]*placementv1.PlacementRef, len(stored)), make([]rollout.Kept, len(stored))
	for i, snap := range stored {
		refs[i] = snap.Spec.OverrideSpec.Placement
		kept[i] = rollout.Kept{Name: snap.Name, Owner: ownerOf(snap), Labels: snap.Labels, Hash: string(snap.Spec.OverrideHash)}
	}
	if err != nil || o.DeletionTimestamp != nil {
		for _, snap := range stored {
			if err := s.hub.DeleteClusterOverrideSnapshot(ctx, snap); err != nil {
				return nil, fmt.Errorf("delete %s: %w", snap.Name, err)
			}
		}
		return common(refs), nil
	}
	hash := propagation.HashJSON(o.Spec)
	index, fresh := rollout.NextOverride(kept, o.UID, hash)
	if fresh {
		if index, err = s.unnamed(ctx, name, index, ofClusters); err != nil {
			return nil, err
		}
		next := &placementv1.ClusterResourceOverrideSnapshot{}
		next.Name, next.Labels = rollout.OverrideSnapshotName(name, index), rollout.OverrideLabels(name, index)
		next.OwnerReferences = ownedBy(placementv1.KindClusterResourceOverride, o)
		next.Spec = placementv1.ClusterResourceOverrideSnapshotSpec{OverrideSpec: o.Spec, OverrideHash: []byte(hash)}
		if _, err := s.hub.CommitClusterOverrideSnapshot(ctx, nil, next); err != nil {
			return nil, fmt.Errorf("make %s: %w", next.Name, err)
		}
	}
	ended, err := s.ended(ctx, kept, index, ofClusters)
	if err != nil {
		return nil, err
	}
	for _, snap := range stored {
		if slices.Contains(ended, snap.Name) {
			if err := s.hub.DeleteClusterOverrideSnapshot(ctx, snap); err != nil {
				return nil, fmt.Errorf("delete %s: %w", snap.Name, err)
			}
			continue
		}
		labels, changed := relabelled(snap.Labels, index)
		if !changed {
			continue
		}
		next := snap.DeepCopy()
		next.Labels = labels
		if _, err := s.hub.CommitClusterOverrideSnapshot(ctx, snap, next); err != nil {
			return nil, fmt.Errorf("label %s: %w", snap.Name, err)
		}
	}
	return common(refs, o.Spec.Placement), nil
}

// namespaceOverride is clusterOverride for an override with a namespace.
func (s *Stage) namespaceOverride(ctx context.Context, key types.NamespacedName) (of *placementv1.PlacementRef, err error) {
	stored, err := s.hub.NamespaceOverrideSnapshotsOf(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("list snapshots of override %s: %w", key, err)
	}
	o, err := s.hub.NamespaceOverride(ctx, key)
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return nil, fmt.Errorf("get override %s: %w", key, err)
	}
	refs, kept := make([]*placementv1.PlacementRef, len(stored)), make([]rollout.Kept, len(stored))
	for i, snap := range stored {
		refs[i] = snap.Spec.OverrideSpec.Placement
		kept[i] = rollout.Kept{Name: snap.Name, Owner: ownerOf(snap), Labels: snap.Labels, Hash: string(snap.Spec.OverrideHash)}
	}
	if err != nil || o.DeletionTimestamp != nil {
		for _, snap := range stored {
			if err := s.hub.DeleteNamespaceOverrideSnapshot(ctx, snap); err != nil {
				return nil, fmt.Errorf("delete %s: %w", snap.Name, err)
			}
		}
		return common(refs), nil
	}
	hash := propagation.HashJSON(o.Spec)
	index, fresh := rollout.NextOverride(kept, o.UID, hash)
	if fresh {
		if index, err = s.unnamed(ctx, key.Name, index, within(key.Namespace)); err != nil {
			return nil, err
		}
		next := &placementv1.ResourceOverrideSnapshot{}
		next.OwnerReferences = ownedBy(placementv1.KindResourceOverride, o)
		next.Namespace, next.Name = key.Namespace, rollout.OverrideSnapshotName(key.Name, index)
		next.Labels = rollout.OverrideLabels(key.Name, index)
		next.Spec = placementv1.ResourceOverrideSnapshotSpec{OverrideSpec: o.Spec, OverrideHash: []byte(hash)}
		if _, err := s.hub.CommitNamespaceOverrideSnapshot(ctx, nil, next); err != nil {
			return nil, fmt.Errorf("make %s: %w", next.Name, err)
		}
	}
	ended, err := s.ended(ctx, kept, index, within(key.Namespace))
	if err != nil {
		return nil, err
	}
	for _, snap := range stored {
		if slices.Contains(ended, snap.Name) {
			if err := s.hub.DeleteNamespaceOverrideSnapshot(ctx, snap); err != nil {
				return nil, fmt.Errorf("delete %s: %w", snap.Name, err)
			}
			continue
		}
		labels, changed := relabelled(snap.Labels, index)
		if !changed {
			continue
		}
		next := snap.DeepCopy()
		next.Labels = labels
		if _, err := s.hub.CommitNamespaceOverrideSnapshot(ctx, snap, next); err != nil {
			return nil, fmt.Errorf("label %s: %w", snap.Name, err)
		}
	}
	return common(refs, o.Spec.Placement), nil
}

// ended returns the snapshots of an override that are not needed any more; named
// returns those that a binding uses.
func (s *Stage) ended(ctx context.Context, stored []rollout.Kept, latest int, named func(*placementv1.ClusterResourceBinding) []string) ([]string, error) {
	if len(rollout.EndedOverrides(stored, latest, nil)) == 0 {
		return nil, nil
	}
	bindings, err := s.hub.PlacementBindings(ctx)
	if err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	needed := map[string]bool{}
	for _, b := range bindings {
		for _, name := range named(b) {
			needed[name] = true
		}
	}
	return rollout.EndedOverrides(stored, latest, needed), nil
}

// unnamed returns an index, at least this one, that no binding names: a binding that names
// the snapshot of an override that was deleted would have that of the one in its place.
func (s *Stage) unnamed(ctx context.Context, override string, index int, named func(*placementv1.ClusterResourceBinding) []string) (int, error) {
	bindings, err := s.hub.PlacementBindings(ctx)
	if err != nil {
		return 0, fmt.Errorf("list bindings: %w", err)
	}
	for slices.ContainsFunc(bindings, func(b *placementv1.ClusterResourceBinding) bool {
		return slices.Contains(named(b), rollout.OverrideSnapshotName(override, index))
	}) {
		index++
	}
	return index, nil
}

// ofClusters returns the snapshots of overrides without a namespace that a binding names.
func ofClusters(b *placementv1.ClusterResourceBinding) []string {
	return b.Spec.ClusterResourceOverrideSnapshots
}

// within returns a function for the snapshots of a namespace's overrides that a binding
// names.
func within(namespace string) func(*placementv1.ClusterResourceBinding) []string {
	return func(b *placementv1.ClusterResourceBinding) (names []string) {
		for _, of := range b.Spec.ResourceOverrideSnapshots {
			if of.Namespace == namespace {
				names = append(names, of.Name)
			}
		}
		return names
	}
}

// ownedBy makes the override the owner of its snapshot, so that it is garbage collected
// with it.
func ownedBy(kind string, o metav1.Object) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{
		APIVersion: placementv1.SchemeGroupVersion.String(), Kind: kind, Name: o.GetName(), UID: o.GetUID(), Controller: &yes,
	}}
}

// ownerOf returns the UID of the override that owns a snapshot.
func ownerOf(snapshot metav1.Object) types.UID {
	if owner := metav1.GetControllerOf(snapshot); owner != nil {
		return owner.UID
	}
	return ""
}

// relabelled returns the labels of a stored snapshot, where latest is the index of the
// latest one.
func relabelled(labels map[string]string, latest int) (map[string]string, bool) {
	want := "false"
	if labels[placementv1.LabelOverrideIndex] == fmt.Sprint(latest) {
		want = "true"
	}
	if labels[placementv1.LabelIsLatestSnapshot] == want {
		return labels, false
	}
	next := maps.Clone(labels)
	next[placementv1.LabelIsLatestSnapshot] = want
	return next, true
}

// stored are the snapshots of all overrides.
type stored struct {
	cluster []*placementv1.ClusterResourceOverrideSnapshot
	inNames []*placementv1.ResourceOverrideSnapshot
}

func (s *Stage) stored(ctx context.Context) (all stored, err error) {
	if all.cluster, err = s.hub.ClusterOverrideSnapshots(ctx); err != nil {
		return all, fmt.Errorf("list override snapshots: %w", err)
	}
	if all.inNames, err = s.hub.NamespaceOverrideSnapshots(ctx); err != nil {
		return all, fmt.Errorf("list override snapshots: %w", err)
	}
	return all, nil
}

// mended returns the snapshots of all overrides. Where somebody deleted or relabelled the
// latest one of an override for the placement, it is restored first: without it members
// would lose what the override says. As long as bindings name only snapshots in force,
// there is nothing to look for. Of is what was found.
func (s *Stage) mended(ctx context.Context, placement string, bindings []*placementv1.ClusterResourceBinding) (all stored, of authored, err error) {
	all, err = s.stored(ctx)
	if err != nil || len(bindings) > 0 && len(all.inForce().lacking(bindings)) == 0 {
		return all, of, err
	}
	if of, err = s.authored(ctx); err != nil {
		return all, of, err
	}
	lost := false
	for _, o := range of.cluster {
		if rollout.Lost(all.cluster, o, o.Spec.Placement, placement) {
			_, failed := s.clusterOverride(ctx, o.Name)
			lost, err = true, errors.Join(err, failed)
		}
	}
	for _, o := range of.inNames {
		if rollout.Lost(all.inNames, o, o.Spec.Placement, placement) {
			_, failed := s.namespaceOverride(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
			lost, err = true, errors.Join(err, failed)
		}
	}
	if err == nil && lost {
		all, err = s.stored(ctx)
	}
	return all, of, err
}

// inForce are those of the snapshots that are in force.
func (all stored) inForce() (some stored) {
	for _, o := range all.cluster {
		if rollout.InForce(o) {
			some.cluster = append(some.cluster, o)
		}
	}
	for _, o := range all.inNames {
		if rollout.InForce(o) {
			some.inNames = append(some.inNames, o)
		}
	}
	return some
}

// made is when each of the snapshots was made.
func (all stored) made() map[types.NamespacedName]time.Time {
	made := map[types.NamespacedName]time.Time{}
	for _, o := range all.cluster {
		made[types.NamespacedName{Name: o.Name}] = o.CreationTimestamp.Time
	}
	for _, o := range all.inNames {
		made[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = o.CreationTimestamp.Time
	}
	return made
}

// lacking are the members whose binding names a snapshot that is gone.
func (all stored) lacking(bindings []*placementv1.ClusterResourceBinding) map[string]bool {
	there, lacking := all.made(), map[string]bool{}
	for _, b := range bindings {
		for _, name := range rollout.Named(b) {
			if _, is := there[name]; !is {
				lacking[b.Spec.TargetCluster] = true
			}
		}
	}
	return lacking
}

// overrides returns the overrides for the placement, by member. The selected objects
// are read only if some override may apply.
func (s *Stage) overrides(ctx context.Context, in rollout.Input, kept stored, snapshots []*placementv1.ClusterResourceSnapshot) (map[string]rollout.Overrides, error) {
	all := rollout.LatestOverrides(in.Placement.Name, kept.cluster, kept.inNames)
	if len(all) == 0 || in.Snapshot == "" {
		return nil, nil
	}
	var objects []placementv1.ResourceIdentifier
	for _, part := range snapshots {
		if part.Labels[placementv1.LabelResourceIndex] != in.Index {
			continue
		}
		whole, err := s.hub.ResourceSnapshot(ctx, part.Name)
		if err != nil {
			return nil, fmt.Errorf("get snapshot %s: %w", part.Name, err)
		}
		for _, content := range whole.Spec.SelectedResources {
			objects = append(objects, rendering.Carried(content.Raw)...)
		}
	}
	members, err := s.hub.Fleet(ctx)
	if err != nil {
		return nil, err
	}
	return rollout.OverridesFor(all, objects, members), nil
}
