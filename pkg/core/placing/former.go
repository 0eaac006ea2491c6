// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/scheduling/placement"
)

// PickedBy reports whether the placement's policy is the one in force by what its bindings
// say: all were picked by it, and they are as many as it wants, if it wants a number.
func PickedBy(p *placementv1.ClusterResourcePlacement, bindings []*placementv1.ClusterResourceBinding) bool {
	hash, picked := string(policySpec(p).PolicyHash), 0
	for _, b := range bindings {
		if !placement.Picks(b) {
			continue
		}
		if b.Annotations[placement.AnnotationPolicyHash] != hash {
			return false
		}
		picked++
	}
	wants := p.Spec.Policy != nil && p.Spec.Policy.NumberOfClusters != nil
	return picked > 0 && (!wants || picked == int(*p.Spec.Policy.NumberOfClusters))
}
