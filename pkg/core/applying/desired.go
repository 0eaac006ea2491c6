// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"maps"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Desired returns the object as the member should have it: a copy of the manifest with
// the labels and annotations that name its Work and its hub, and without the metadata
// that only an API server may set.
func Desired(w *propagation.Work, hub string, manifest map[string]any) map[string]any {
	out := maps.Clone(manifest)
	meta := part(out, "metadata")
	for _, k := range []string{"managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"} {
		delete(meta, k)
	}
	labels := part(meta, "labels")
	labels[propagation.LabelMemberWork] = w.Key.Owner()
	labels[workv1alpha1.LabelManaged] = workv1alpha1.LabelManagedValue
	annotations := part(meta, "annotations")
	annotations[AnnotationWork] = w.Key.Namespace() + "/" + w.Key.Name
	annotations[AnnotationManifest] = propagation.HashJSON(manifest)
	if hub != "" {
		annotations[AnnotationHub] = hub
	}
	return out
}

// part replaces m[key] by a copy of it that may be changed, or by an empty map if there
// was none, and returns that.
func part(m map[string]any, key string) map[string]any {
	old, _ := m[key].(map[string]any)
	next := maps.Clone(old)
	if next == nil {
		next = map[string]any{}
	}
	m[key] = next
	return next
}

// Forces reports whether applying the Work's manifests takes over fields that somebody
// else owns in the member. It does, unless a placement asks for server-side apply
// without force.
func Forces(w *propagation.Work) bool {
	s := w.Strategy
	return s == nil || s.Type != placementv1.ApplyStrategyTypeServerSideApply || s.ServerSideApplyConfig != nil && s.ServerSideApplyConfig.ForceConflicts
}

// RetainsReplicas reports whether the template asks to leave the number of replicas to
// the member.
func RetainsReplicas(obj map[string]any) bool {
	meta, _ := obj["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	return labels[propagation.LabelRetainReplicas] == "true"
}

// LeaveReplicas keeps the number of replicas that the member has. If somebody else owns
// the field, it is left out of obj. If nobody else does, leaving it out would reset it
// to its default, so the member's value is sent.
func LeaveReplicas(obj map[string]any, live *Observed) {
	spec, _ := obj["spec"].(map[string]any)
	if _, sets := spec["replicas"]; !sets {
		return
	}
	spec = part(obj, "spec")
	if live.Replicas != NobodyElse {
		delete(spec, "replicas")
		return
	}
	was, _ := live.Object["spec"].(map[string]any)
	if n, ok := was["replicas"]; ok {
		spec["replicas"] = n
	}
}
