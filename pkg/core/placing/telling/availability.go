// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/reporting"
)

// Availability of an object in a member.
type Availability string

// The availabilities, which are the released reasons.
const (
	Available    Availability = "Available"
	NotYet       Availability = "ManifestNotAvailableYet"
	NotTrackable Availability = "NotTrackable"
)

// untrackable are kinds whose health is known for policies, and whose availability
// is not for placements, as released.
var untrackable = map[string]bool{
	"batch/Job": true, "batch/CronJob": true, "/Pod": true, "apps/ReplicaSet": true,
	"networking.k8s.io/Ingress": true, "/PersistentVolumeClaim": true, "/PersistentVolume": true,
	"autoscaling/HorizontalPodAutoscaler": true, "apiregistration.k8s.io/APIService": true,
}

// AvailabilityOf tells whether the object does its job: as its health says where
// that can be told. A Namespace is there at once.
func AvailabilityOf(obj map[string]any) Availability {
	key := reporting.KindOf(obj)
	spec, _ := obj["spec"].(map[string]any)
	switch {
	case key == "/Namespace":
		return Available
	case untrackable[key], key == "/Service" && spec["type"] == "ExternalName":
		return NotTrackable
	}
	_, health := reporting.Reflect(obj)
	switch health {
	case workv1alpha1.ResourceHealthy:
		return Available
	case workv1alpha1.ResourceUnhealthy:
		return NotYet
	}
	return NotTrackable
}
