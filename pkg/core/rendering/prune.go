// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"slices"
	"strings"
)

// Prune takes out of an object, in place, what no other cluster can use: its
// status, all metadata but name, labels and annotations, and what the API
// server it came from assigned.
func Prune(obj map[string]any) {
	delete(obj, "status")
	meta := child(obj, "metadata")
	for k := range meta {
		if !slices.Contains([]string{"name", "namespace", "labels", "annotations"}, k) {
			delete(meta, k)
		}
	}
	if rule, ok := pruners[group(obj)+"/"+text(obj["kind"])]; ok {
		rule(obj)
	}
	drop(meta, "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	drop(meta, "labels")
}

// What the API server, or a controller, assigned to objects of a kind.
var pruners = map[string]func(map[string]any){
	"/Service":               pruneService,
	"/ServiceAccount":        func(obj map[string]any) { delete(obj, "secrets") },
	"/Secret":                pruneSecret,
	"/Namespace":             func(obj map[string]any) { drop(obj, "spec", "finalizers") },
	"/PersistentVolume":      pruneVolume,
	"/PersistentVolumeClaim": pruneVolumeClaim,
	"apps/Deployment": func(obj map[string]any) {
		drop(child(obj, "metadata"), "annotations", "deployment.kubernetes.io/revision")
	},
	"batch/Job": pruneJob,
}

// pruneService takes out allocated addresses and ports. A headless service
// stays one.
func pruneService(obj map[string]any) {
	spec := child(obj, "spec")
	delete(spec, "healthCheckNodePort")
	if spec["clusterIP"] != "None" {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	for _, port := range objects(spec["ports"]) {
		delete(port, "nodePort")
	}
}

// pruneSecret takes the token out of a service account's secret: it opens the
// hub, and each member makes its own.
func pruneSecret(obj map[string]any) {
	if obj["type"] != "kubernetes.io/service-account-token" {
		return
	}
	delete(obj, "data")
	drop(child(obj, "metadata"), "annotations", "kubernetes.io/service-account.uid")
}

// jobLabels are put by the API server on a Job's pods.
var jobLabels = []string{"controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"}

// managedByHub is what a guarded hub writes into a Job's spec.managedBy, for its
// own controller to leave the Job alone (examples/overlays/hub-guard).
const managedByHub = "sluice.dev/hub"

// pruneJob takes out who looks after it on the hub, and the selector that the API
// server generated, with its labels.
func pruneJob(obj map[string]any) {
	spec := child(obj, "spec")
	if spec["managedBy"] == managedByHub {
		delete(spec, "managedBy")
	}
	if spec["manualSelector"] == true {
		return
	}
	delete(spec, "selector")
	drop(child(obj, "metadata"), "labels", jobLabels...)
	drop(child(spec, "template", "metadata"), "labels", jobLabels...)
}

// boundByController marks a binding of volume and claim that nobody asked for
// by name. A name without the mark is the user's.
const boundByController = "pv.kubernetes.io/bound-by-controller"

func pruneVolumeClaim(obj map[string]any) {
	if _, bound := child(obj, "metadata", "annotations")[boundByController]; bound {
		delete(child(obj, "spec"), "volumeName")
	}
	dropVolumeAnnotations(obj)
}

func pruneVolume(obj map[string]any) {
	if _, bound := child(obj, "metadata", "annotations")[boundByController]; bound {
		delete(child(obj, "spec"), "claimRef")
	}
	drop(child(obj, "spec"), "claimRef", "uid", "resourceVersion")
	dropVolumeAnnotations(obj)
}

func dropVolumeAnnotations(obj map[string]any) {
	meta := child(obj, "metadata")
	for k := range child(meta, "annotations") {
		if strings.HasPrefix(k, "pv.kubernetes.io/") || strings.HasPrefix(k, "volume.kubernetes.io/") || strings.HasPrefix(k, "volume.beta.kubernetes.io/storage-provisioner") {
			drop(meta, "annotations", k)
		}
	}
}
