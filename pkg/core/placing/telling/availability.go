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

// AvailabilityOf returns whether the object is available, by its health where that can be
// told. A Namespace is available at once.
func AvailabilityOf(obj map[string]any) Availability {
	k := kinds.Of(obj)
	switch {
	case propagation.KeyOf(obj).GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Namespace"}:
		return Available
	case !k.Awaited(obj):
		return NotTrackable
	}
	switch k.Health(obj) {
	case workv1alpha1.ResourceHealthy:
		return Available
	case workv1alpha1.ResourceUnhealthy:
		return NotYet
	}
	return NotTrackable
}
