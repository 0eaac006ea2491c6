// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"strconv"

	placementv1 "sluice.dev/apis/placement/v1"
)

// AnnotationRollback on a placement is the index of the snapshot that it is rolled back
// to. The placement stays at that snapshot until the annotation is removed.
const AnnotationRollback = "sluice.dev/rollback-to-index"

// Pinned returns the index that the placement is rolled back to; false if it is not
// rolled back. An annotation that is no number gives an index that no snapshot has.
func Pinned(p *placementv1.ClusterResourcePlacement) (int, bool) {
	value, pinned := p.Annotations[AnnotationRollback]
	if !pinned {
		return 0, false
	}
	index, err := strconv.Atoi(value)
	if err != nil || index < 0 {
		return -1, true
	}
	return index, true
}

// InForce returns the parts from which members get the newest snapshot: all parts, or
// those of the index that the placement is rolled back to.
func InForce(p *placementv1.ClusterResourcePlacement, parts []Part) []Part {
	index, pinned := Pinned(p)
	if !pinned {
		return parts
	}
	var out []Part
	for _, part := range parts {
		if part.Index == index {
			out = append(out, part)
		}
	}
	return out
}

// Needed returns the names of the first parts of the snapshots that are kept regardless
// of the history limit: a member has them, or the placement is rolled back to them.
func Needed(p *placementv1.ClusterResourcePlacement, bindings []*placementv1.ClusterResourceBinding) map[string]bool {
	needed := map[string]bool{}
	for _, b := range bindings {
		needed[b.Spec.ResourceSnapshotName] = true
	}
	if index, pinned := Pinned(p); pinned {
		needed[SnapshotName(p.Name, index)] = true
	}
	return needed
}

// Excess reports whether there are snapshots to be pruned.
func Excess(p *placementv1.ClusterResourcePlacement, snapshots []*placementv1.ClusterResourceSnapshot, bindings []*placementv1.ClusterResourceBinding) bool {
	s := Stored{Placement: p.Name, Seen: -1, Limit: History(p), Needed: Needed(p, bindings), Parts: PartsOf(p, snapshots)}
	return len(s.Next(nil).Prune) > 0
}
