// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// Availability says whether an object in a member is available.
type Availability string

// The values of Availability, which are the released reasons.
const (
	Available    Availability = "Available"
	NotYet       Availability = "ManifestNotAvailableYet"
	NotTrackable Availability = "NotTrackable"
)

// AvailabilityOf returns whether the object is available: by its health, if that is
// known for its kind. A Namespace is available as soon as it exists.
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
