// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Elsewhere returns the name of the applier that serves the member instead of Sluice's
// own; empty: none. A value that is not a lower-case name without dots counts as none.
func Elsewhere(c *clusterv1alpha1.Cluster) string {
	if c == nil {
		return ""
	}
	name := c.Annotations[propagation.AnnotationApplier]
	if len(validation.IsDNS1123Label(name)) > 0 {
		return ""
	}
	return name
}
