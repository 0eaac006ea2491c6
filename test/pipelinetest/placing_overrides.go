// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// Overrides of placements, and their snapshots.

// PutClusterOverride lets somebody make an override of placements, or have it say something
// else. It tells whether that changed anything.
func (h *Hub) PutClusterOverride(name string, spec placementv1.ClusterResourceOverrideSpec) bool {
	return put(h, h.placing.overrides, &placementv1.ClusterResourceOverride{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
}

// PutNamespaceOverride does so with one that has a namespace.
func (h *Hub) PutNamespaceOverride(name types.NamespacedName, spec placementv1.ResourceOverrideSpec) bool {
	return put(h, h.placing.inNames, &placementv1.ResourceOverride{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, Spec: spec})
}

func put[O wire](h *Hub, t *wires[O], o O) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := t.live[wireID(o)]; r != nil && same(object(r.value)["spec"], object(o)["spec"]) {
		return false
	}
	putBy(h, t, o)
	return true
}

// DropClusterOverride lets somebody delete an override of placements; false: there is none.
func (h *Hub) DropClusterOverride(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.placing.overrides.leave(name, false)
}

// DropNamespaceOverride does so with one that has a namespace.
func (h *Hub) DropNamespaceOverride(name types.NamespacedName) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.placing.inNames.leave(name.String(), false)
}

// CollectGarbage deletes the snapshots of placements and of overrides that are gone, as the
// garbage collector does some time after that: what was being made while its owner went
// comes after everything that was deleted with it.
func (h *Hub) CollectGarbage() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.placing.collect()
}

func (p placing) collect() {
	collect(p.resourceSnapshots, p.placements)
	collect(p.policySnapshots, p.placements)
	collect(p.clusterOverrides, p.overrides)
	collect(p.namespaced, p.inNames)
}

func collect[S, O wire](snapshots *wires[S], owners *wires[O]) {
	for _, s := range snapshots.rows() {
		owner := metav1.GetControllerOf(s)
		if owner == nil {
			continue
		}
		o := owners.live[strings.TrimPrefix(s.GetNamespace()+"/"+owner.Name, "/")]
		if o == nil || o.uid != owner.UID {
			snapshots.remove(wireID(s), false)
		}
	}
}

// LiveOverrideSnapshots are the snapshots that there are, and the override of each. For
// tests.
func (h *Hub) LiveOverrideSnapshots() map[string]propagation.PolicyKey {
	of := map[string]propagation.PolicyKey{}
	for _, s := range h.placing.clusterOverrides.rows() {
		of[s.Name] = propagation.PolicyKey{Scope: propagation.Cluster, Name: s.Labels[placementv1.LabelParentOverride]}
	}
	for _, s := range h.placing.namespaced.rows() {
		of[wireID(s)] = propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: s.Namespace, Name: s.Labels[placementv1.LabelParentOverride]}
	}
	return of
}

// ClusterOverride answers as pkg/hub does.
func (h *Hub) ClusterOverride(ctx context.Context, name string) (*placementv1.ClusterResourceOverride, error) {
	return h.placing.overrides.one(ctx, name)
}

// NamespaceOverride answers as pkg/hub does.
func (h *Hub) NamespaceOverride(ctx context.Context, name types.NamespacedName) (*placementv1.ResourceOverride, error) {
	return h.placing.inNames.one(ctx, name.String())
}

// ClusterOverrides answers as pkg/hub does.
func (h *Hub) ClusterOverrides(ctx context.Context) ([]*placementv1.ClusterResourceOverride, error) {
	return h.placing.overrides.of(ctx, "", "")
}

// NamespaceOverrides answers as pkg/hub does.
func (h *Hub) NamespaceOverrides(ctx context.Context) ([]*placementv1.ResourceOverride, error) {
	return h.placing.inNames.of(ctx, "", "")
}

// ClusterOverridesDefined answers as pkg/hub does.
func (h *Hub) ClusterOverridesDefined(ctx context.Context) (time.Time, error) {
	return h.Defined(ctx, placementv1.SchemeGroupVersion.WithKind(placementv1.KindClusterResourceOverride))
}

// NamespaceOverridesDefined answers as pkg/hub does.
func (h *Hub) NamespaceOverridesDefined(ctx context.Context) (time.Time, error) {
	return h.Defined(ctx, placementv1.SchemeGroupVersion.WithKind(placementv1.KindResourceOverride))
}

// ClusterOverrideSnapshots answers as pkg/hub does.
func (h *Hub) ClusterOverrideSnapshots(ctx context.Context) ([]*placementv1.ClusterResourceOverrideSnapshot, error) {
	return h.placing.clusterOverrides.of(ctx, "", "")
}

// ClusterOverrideSnapshotsOf answers as pkg/hub does.
func (h *Hub) ClusterOverrideSnapshotsOf(ctx context.Context, override string) ([]*placementv1.ClusterResourceOverrideSnapshot, error) {
	return h.placing.clusterOverrides.of(ctx, placementv1.LabelParentOverride, override)
}

// CommitClusterOverrideSnapshot answers as pkg/hub does.
func (h *Hub) CommitClusterOverrideSnapshot(ctx context.Context, old, next *placementv1.ClusterResourceOverrideSnapshot) (*placementv1.ClusterResourceOverrideSnapshot, error) {
	return h.placing.clusterOverrides.commit(ctx, old, next, old == nil)
}

// DeleteClusterOverrideSnapshot answers as pkg/hub does.
func (h *Hub) DeleteClusterOverrideSnapshot(ctx context.Context, s *placementv1.ClusterResourceOverrideSnapshot) error {
	return ignoreGone(h.placing.clusterOverrides.end(ctx, s))
}

// NamespaceOverrideSnapshots answers as pkg/hub does.
func (h *Hub) NamespaceOverrideSnapshots(ctx context.Context) ([]*placementv1.ResourceOverrideSnapshot, error) {
	return h.placing.namespaced.of(ctx, "", "")
}

// NamespaceOverrideSnapshotsOf answers as pkg/hub does.
func (h *Hub) NamespaceOverrideSnapshotsOf(ctx context.Context, override types.NamespacedName) ([]*placementv1.ResourceOverrideSnapshot, error) {
	all, err := h.placing.namespaced.of(ctx, placementv1.LabelParentOverride, override.Name)
	return slices.DeleteFunc(all, func(s *placementv1.ResourceOverrideSnapshot) bool { return s.Namespace != override.Namespace }), err
}

// CommitNamespaceOverrideSnapshot answers as pkg/hub does.
func (h *Hub) CommitNamespaceOverrideSnapshot(ctx context.Context, old, next *placementv1.ResourceOverrideSnapshot) (*placementv1.ResourceOverrideSnapshot, error) {
	return h.placing.namespaced.commit(ctx, old, next, old == nil)
}

// DeleteNamespaceOverrideSnapshot answers as pkg/hub does.
func (h *Hub) DeleteNamespaceOverrideSnapshot(ctx context.Context, s *placementv1.ResourceOverrideSnapshot) error {
	return ignoreGone(h.placing.namespaced.end(ctx, s))
}
