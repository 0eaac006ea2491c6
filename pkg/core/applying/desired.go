// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"maps"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Desired is the object that the member shall have: a copy of the manifest with the
// labels and annotations that name its Work and its hub, and without the metadata
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

// part puts a copy of the object m[key] into its place, empty where there was
// none, to be changed.
func part(m map[string]any, key string) map[string]any {
	old, _ := m[key].(map[string]any)
	next := maps.Clone(old)
	if next == nil {
		next = map[string]any{}
	}
	m[key] = next
	return next
}

// Forces tells whether the Work's manifests take the fields that somebody else owns in
// the member: always, unless a placement asks for server-side apply and does not ask
// for force.
func Forces(w *propagation.Work) bool {
	s := w.Strategy
	return s == nil || s.Type != placementv1.ApplyStrategyTypeServerSideApply || s.ServerSideApplyConfig != nil && s.ServerSideApplyConfig.ForceConflicts
}

// RetainsReplicas tells whether the template asks that the number of replicas is
// left to the member.
func RetainsReplicas(obj map[string]any) bool {
	meta, _ := obj["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	return labels[propagation.LabelRetainReplicas] == "true"
}

// LeaveReplicas leaves the number of replicas as the member has it. Where somebody
// else owns the field it is left out. One that nobody else owns would fall back to
// its default if it were: it is sent as it is.
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
