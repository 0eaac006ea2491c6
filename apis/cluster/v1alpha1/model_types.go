// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ResourceModel is a class of nodes by size.
type ResourceModel struct {
	// Grade numbers the classes by size, from 0 without a gap.
	// +required
	// +kubebuilder:validation:Minimum=0
	Grade uint `json:"grade"`

	// Ranges are the sizes that make the class.
	// +required
	Ranges []ResourceModelRange `json:"ranges"`
}

// ResourceModelRange is from Min up to, and without, Max. The ranges of
// neighbouring classes should touch.
type ResourceModelRange struct {
	// Name of the resource: cpu, memory, storage, ephemeral-storage.
	// +required
	Name corev1.ResourceName `json:"name"`

	// Min belongs to the range. In class 0 it counts as 0.
	// +required
	Min resource.Quantity `json:"min"`

	// Max does not belong to the range. In the last class it counts as
	// infinite. More than Min.
	// +required
	Max resource.Quantity `json:"max"`
}

// AllocatableModeling is the number of nodes of one class.
type AllocatableModeling struct {
	// Grade is the class.
	// +required
	// +kubebuilder:validation:Minimum=0
	Grade uint `json:"grade"`

	// Count is the number of nodes whose free resources are in the class.
	// +required
	Count int `json:"count"`
}
