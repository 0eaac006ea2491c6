// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import "strings"

// boundByController is the annotation of a volume or claim that a controller bound to
// the other. Without it, the name of the other was given by the user.
const boundByController = "pv.kubernetes.io/bound-by-controller"

var volume = Kind{
	prune: func(obj map[string]any) {
		if boundByItself(obj) {
			delete(child(obj, "spec"), "claimRef")
		}
		drop(child(obj, "spec"), "claimRef", "uid", "resourceVersion")
		dropVolumeAnnotations(obj)
	},
	reports:   []string{"phase"},
	health:    inPhase("Available", "Bound", "Released"),
	total:     worstPhase("Failed", "Pending", "Released", "Available", "Bound"),
	unawaited: always,
}

var volumeClaim = Kind{
	prune: func(obj map[string]any) {
		if boundByItself(obj) {
			delete(child(obj, "spec"), "volumeName")
		}
		dropVolumeAnnotations(obj)
	},
	reports:   []string{"phase", "accessModes", "capacity"},
	health:    inPhase("Bound"),
	total:     worstPhase("Lost", "Pending", "Bound"),
	unawaited: always,
}

func boundByItself(obj map[string]any) bool {
	_, bound := child(obj, "metadata", "annotations")[boundByController]
	return bound
}

func dropVolumeAnnotations(obj map[string]any) {
	meta := child(obj, "metadata")
	for k := range child(meta, "annotations") {
		if strings.HasPrefix(k, "pv.kubernetes.io/") || strings.HasPrefix(k, "volume.kubernetes.io/") || strings.HasPrefix(k, "volume.beta.kubernetes.io/storage-provisioner") {
			drop(meta, "annotations", k)
		}
	}
}
