// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/scheduling/placement"
)

// PickedBy reports whether the bindings show that the placement's policy is in force:
// all were picked by it, and they are as many as it asks for, if it asks for a number.
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
