// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"k8s.io/apimachinery/pkg/util/validation"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Elsewhere is the applier that looks after the member instead of Sluice's own; empty:
// none. What is no name of one, in lower case and without dots, is none.
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
