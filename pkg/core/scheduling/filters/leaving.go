// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package filters

// Leaving keeps templates out of a cluster that is being unjoined.
func Leaving(in Input) string {
	if in.Cluster.DeletionTimestamp != nil {
		return "is leaving"
	}
	return ""
}
