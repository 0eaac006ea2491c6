// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// Availability of an object in a member.
type Availability string

// The availabilities, which are the released reasons.
const (
	Available    Availability = "Available"
	NotYet       Availability = "ManifestNotAvailableYet"
	NotTrackable Availability = "NotTrackable"
)

// AvailabilityOf tells whether the object does its job: as its health says where
// that can be told. A Namespace is there at once.
func AvailabilityOf(known kinds.Table, obj map[string]any) Availability {
	k := known.Of(obj)
	switch {
	case propagation.KeyOf(obj).GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Namespace"}:
		return Available
	case !k.Awaited(obj):
		return NotTrackable
	}
	health, _ := k.Health(obj) // Unknown where a rule fails
	switch health {
	case workv1alpha1.ResourceHealthy:
		return Available
	case workv1alpha1.ResourceUnhealthy:
		return NotYet
	}
	return NotTrackable
}
