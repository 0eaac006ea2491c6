// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import placementv1 "sluice.dev/apis/placement/v1"

// What people, and others than Sluice, do with a placement's rollout.

// AnnotatePlacement lets somebody set an annotation of a placement; an empty value takes it
// off. It tells whether that changed anything.
func (h *Hub) AnnotatePlacement(name, key, value string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.placing.placements.live[name]
	if r == nil || r.value.Annotations[key] == value {
		return false
	}
	p := r.value.DeepCopy()
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	if p.Annotations[key] = value; value == "" {
		delete(p.Annotations, key)
	}
	h.placing.placements.put(p, false)
	return true
}

// BindPlacement lets somebody else than Sluice give a binding's member the snapshot. It
// tells whether that changed anything.
func (h *Hub) BindPlacement(binding, snapshot string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.placing.placementBindings.live[binding].value.DeepCopy()
	if b.Spec.State == placementv1.BindingStateBound && b.Spec.ResourceSnapshotName == snapshot {
		return false
	}
	b.Spec.State, b.Spec.ResourceSnapshotName = placementv1.BindingStateBound, snapshot
	putBy(h, h.placing.placementBindings, b)
	return true
}

// UnbindPlacement lets somebody else than Sluice delete a binding; false: it is being
// deleted already.
func (h *Hub) UnbindPlacement(binding string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.placing.placementBindings.leave(binding, false)
}

// LiveResourceSnapshots are the snapshots of what a placement selects as they are. For
// tests.
func (h *Hub) LiveResourceSnapshots(placement string) []*placementv1.ClusterResourceSnapshot {
	var all []*placementv1.ClusterResourceSnapshot
	for _, s := range h.placing.resourceSnapshots.rows() {
		if s.Labels[placementv1.LabelParentCRP] == placement {
			all = append(all, s)
		}
	}
	return all
}

// LivePolicySnapshot is the latest snapshot of the placement's policy; nil: there is none.
// For tests.
func (h *Hub) LivePolicySnapshot(placement string) *placementv1.ClusterSchedulingPolicySnapshot {
	for _, s := range h.placing.policySnapshots.rows() {
		if s.Labels[placementv1.LabelParentCRP] == placement && s.Labels[placementv1.LabelIsLatestSnapshot] == "true" {
			return s
		}
	}
	return nil
}
