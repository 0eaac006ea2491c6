// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"slices"

	"sluice.dev/pkg/core/kinds"
)

// carriedMetadata are the fields of metadata that go from one cluster to another.
var carriedMetadata = []string{"name", "namespace", "labels", "annotations"}

// Prune takes out of an object, in place, what no other cluster can use: its
// status, all metadata but name, labels and annotations, and what the API
// server it came from assigned.
func Prune(obj map[string]any) {
	delete(obj, "status")
	meta := child(obj, "metadata")
	for k := range meta {
		if !slices.Contains(carriedMetadata, k) {
			delete(meta, k)
		}
	}
	kinds.Of(obj).Prune(obj)
	drop(meta, "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	drop(meta, "labels")
}
