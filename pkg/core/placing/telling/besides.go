// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/reporting"
)

// Besides returns the conditions of a placement that do not belong to a stage of its
// rollout. Each exists only while something is wrong: Sluice lacks a right to objects
// that are selected, which the placer writes, or others want objects that the placement
// has in a member, or change them there.
func Besides(in Input) []metav1.Condition {
	was := in.Placement.Status.Conditions
	list := conditions.Only(was, reporting.ConditionKindsGranted)
	for c, is := range applying.Disputes(in.Works, in.Placement.Generation) {
		if is {
			said, _ := conditions.Set(conditions.Only(was, c.Type), c, in.Now)
			list = append(list, said...)
		}
	}
	return list
}
