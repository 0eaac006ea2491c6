// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/mirroring"
	"sluice.dev/pkg/outcome"
)

// What decides on placements, and rolls them out.

// end deletes the object as it was read: at once, or when its finalizers are gone.
func (t *wires[O]) end(ctx context.Context, o O) error {
	id := wireID(o)
	if err := t.hub.ask(ctx, "delete", t.about(id)); err != nil {
		return err
	}
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	r, err := t.current(id, o.GetUID(), o.GetResourceVersion())
	if err != nil {
		return err
	}
	if !t.leave(id, true) {
		return nil
	}
	return t.hub.wrote(ctx, "delete", t.about(id), r.value, nil)
}

// leave ends the object, or marks it; false: it is marked already.
func (t *wires[O]) leave(id string, own bool) bool {
	r := t.live[id]
	switch {
	case r == nil, r.value.GetDeletionTimestamp() != nil:
		return false
	case len(r.value.GetFinalizers()) == 0:
		t.remove(id, own)
		return true
	}
	o, _ := r.value.DeepCopyObject().(O)
	at := metav1.NewTime(t.hub.second())
	o.SetDeletionTimestamp(&at)
	o.SetGeneration(o.GetGeneration() + 1)
	t.put(o, own)
	return true
}

// generated is the generation of next, which follows old.
func generated(old, next wire) int64 {
	if same(object(old)["spec"], object(next)["spec"]) {
		return old.GetGeneration()
	}
	return old.GetGeneration() + 1
}

// DropPlacement lets somebody delete a placement; false: there is none.
func (h *Hub) DropPlacement(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.placing.placements.leave(name, false)
}

// PutPlacement lets somebody make a placement, or have it say something else. It tells
// whether that changed anything.
func (h *Hub) PutPlacement(name string, spec placementv1.ClusterResourcePlacementSpec) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.placing.placements
	p := &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: name, UID: h.newUID(), Generation: 1, CreationTimestamp: metav1.NewTime(h.second())}}
	if r := t.live[name]; r != nil {
		if r.value.DeletionTimestamp != nil || same(r.value.Spec, spec) {
			return false
		}
		p = r.value.DeepCopy()
		p.Generation++
	}
	p.Spec = spec
	t.put(p, false)
	return true
}

// ignoreGone takes what is gone already for deleted.
func ignoreGone(err error) error {
	if errors.Is(err, outcome.ErrGone) {
		return nil
	}
	return err
}

// LivePlacement is a placement as it is; nil: there is none. For tests.
func (h *Hub) LivePlacement(name string) *placementv1.ClusterResourcePlacement {
	if r := h.placing.placements.live[name]; r != nil {
		return r.value
	}
	return nil
}

// TakesPart tells whether a member is one as placements see them, and is not leaving. For
// tests.
func (h *Hub) TakesPart(cluster string) bool {
	r := h.placing.members.live[cluster]
	return r != nil && r.value.DeletionTimestamp == nil
}

// LivePlacementBindings are the bindings of placements as they are. For tests.
func (h *Hub) LivePlacementBindings() []*placementv1.ClusterResourceBinding {
	return h.placing.placementBindings.rows()
}

// LiveSnapshots are the names of what is kept of placements. For tests.
func (h *Hub) LiveSnapshots() []string {
	var names []string
	for _, s := range h.placing.resourceSnapshots.rows() {
		names = append(names, s.Name)
	}
	for _, s := range h.placing.policySnapshots.rows() {
		names = append(names, s.Name)
	}
	return names
}

// CommitPlacement answers as pkg/hub does.
func (h *Hub) CommitPlacement(ctx context.Context, old, next *placementv1.ClusterResourcePlacement) (*placementv1.ClusterResourcePlacement, error) {
	return h.placing.placements.commit(ctx, old, next, old == nil)
}

// CommitResourceSnapshot answers as pkg/hub does: of one that is there the content stays.
func (h *Hub) CommitResourceSnapshot(ctx context.Context, old, next *placementv1.ClusterResourceSnapshot) (*placementv1.ClusterResourceSnapshot, error) {
	if r := h.placing.resourceSnapshots.live[next.Name]; old != nil && r != nil {
		was, is := *old, *next
		was.Spec, is.Spec = r.value.Spec, r.value.Spec
		old, next = &was, &is
	}
	return h.placing.resourceSnapshots.commit(ctx, old, next, old == nil)
}

// DeleteResourceSnapshot answers as pkg/hub does.
func (h *Hub) DeleteResourceSnapshot(ctx context.Context, s *placementv1.ClusterResourceSnapshot) error {
	return ignoreGone(h.placing.resourceSnapshots.end(ctx, s))
}

// CommitPolicySnapshot answers as pkg/hub does.
func (h *Hub) CommitPolicySnapshot(ctx context.Context, old, next *placementv1.ClusterSchedulingPolicySnapshot) (*placementv1.ClusterSchedulingPolicySnapshot, error) {
	return h.placing.policySnapshots.commit(ctx, old, next, old == nil)
}

// CommitPolicySnapshotStatus answers as pkg/hub does.
func (h *Hub) CommitPolicySnapshotStatus(ctx context.Context, s *placementv1.ClusterSchedulingPolicySnapshot, status placementv1.SchedulingPolicySnapshotStatus) (*placementv1.ClusterSchedulingPolicySnapshot, error) {
	next := s.DeepCopy()
	next.Status = status
	return h.placing.policySnapshots.status(ctx, s, next)
}

// DeletePolicySnapshot answers as pkg/hub does.
func (h *Hub) DeletePolicySnapshot(ctx context.Context, s *placementv1.ClusterSchedulingPolicySnapshot) error {
	return ignoreGone(h.placing.policySnapshots.end(ctx, s))
}

// PlacementBindings answers as pkg/hub does.
func (h *Hub) PlacementBindings(ctx context.Context) ([]*placementv1.ClusterResourceBinding, error) {
	return h.placing.placementBindings.of(ctx, "", "")
}

// DeletePlacementBinding answers as pkg/hub does.
func (h *Hub) DeletePlacementBinding(ctx context.Context, b *placementv1.ClusterResourceBinding) error {
	return ignoreGone(h.placing.placementBindings.end(ctx, b))
}

// Members answers as pkg/hub does.
func (h *Hub) Members(ctx context.Context) ([]*memberclusterv1.MemberCluster, error) {
	return h.placing.members.of(ctx, "", "")
}

// Fleet answers as pkg/hub does.
func (h *Hub) Fleet(ctx context.Context) ([]*memberclusterv1.MemberCluster, error) {
	members, err := h.Members(ctx)
	if err != nil {
		return nil, err
	}
	clusters, err := h.Clusters(ctx)
	return mirroring.Present(members, clusters), err
}

// CommitMember answers as pkg/hub does.
func (h *Hub) CommitMember(ctx context.Context, old, next *memberclusterv1.MemberCluster) (*memberclusterv1.MemberCluster, error) {
	return h.placing.members.commit(ctx, old, next, old == nil)
}

// CommitMemberStatus answers as pkg/hub does.
func (h *Hub) CommitMemberStatus(ctx context.Context, m *memberclusterv1.MemberCluster, status memberclusterv1.MemberClusterStatus) (*memberclusterv1.MemberCluster, error) {
	next := m.DeepCopy()
	next.Status = status
	return h.placing.members.status(ctx, m, next)
}

// DeleteMemberAt answers as pkg/hub does.
func (h *Hub) DeleteMemberAt(ctx context.Context, m *memberclusterv1.MemberCluster) error {
	return h.placing.members.end(ctx, m)
}

// Mirrored is the hub as who keeps a MemberCluster for each Cluster sees it.
type Mirrored struct{ *Hub }

// AnnotateCluster answers as pkg/hub does.
func (m Mirrored) AnnotateCluster(ctx context.Context, c *clusterv1alpha1.Cluster, key, value string) (*clusterv1alpha1.Cluster, error) {
	if err := m.ask(ctx, "patch", "cluster "+c.Name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.clusters.current(c.Name, c.UID, c.ResourceVersion)
	if err != nil {
		return nil, err
	}
	next := r.value.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[key] = value
	if value == "" {
		delete(next.Annotations, key)
	}
	m.storeCluster(next, true)
	return next, m.wrote(ctx, "patch", "cluster "+c.Name, r.value, next)
}

// KindsInNamespaces answers as pkg/hub does.
func (h *Hub) KindsInNamespaces(ctx context.Context) ([]schema.GroupVersionKind, error) {
	if err := h.ask(ctx, "list", "kinds"); err != nil {
		return nil, err
	}
	return slices.Clone(inNamespaces), nil
}

// Namespaced answers as pkg/hub does.
func (h *Hub) Namespaced(gvk schema.GroupVersionKind) (bool, error) {
	return slices.Contains(inNamespaces, gvk), nil
}

var inNamespaces = []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}, {Group: "apps", Version: "v1", Kind: "Deployment"}}
