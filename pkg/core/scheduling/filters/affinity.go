// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package filters

import "sluice.dev/pkg/core/scheduling/affinity"

// Affinity keeps the template where its placement wants it.
func Affinity(in Input) string {
	if in.Kept {
		return ""
	}
	return affinity.Mismatch(in.Affinity, in.Cluster)
}
