// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"sluice.dev/pkg/core/propagation"
)

// RunsOnce tells whether an object of that template does something, and then has
// done it: one that is made anew is to do it again.
func RunsOnce(k propagation.TemplateKey) bool {
	gvk := k.GroupVersionKind()
	return gvk.Group == "batch" && gvk.Kind == "Job"
}

// Finished tells whether the manifest is a Job that is removed when it has ended,
// and has, says the last status that is known of it: the Work's, or what the
// binding keeps of an earlier Work. b may be nil.
func Finished(w *propagation.Work, b *propagation.Binding, manifest map[string]any) bool {
	u := unstructured.Unstructured{Object: manifest}
	if !RunsOnce(propagation.TemplateKey{APIVersion: u.GetAPIVersion(), Kind: u.GetKind()}) {
		return false
	}
	if _, ends, err := unstructured.NestedFieldNoCopy(manifest, "spec", "ttlSecondsAfterFinished"); !ends || err != nil {
		return false
	}
	for _, m := range w.Status.ManifestStatuses {
		if m.Identifier.Kind == u.GetKind() && m.Identifier.Namespace == u.GetNamespace() && m.Identifier.Name == u.GetName() {
			return ended(m.Status)
		}
	}
	if b == nil {
		return false
	}
	for _, i := range b.Status.AggregatedStatus {
		if i.ClusterName == w.Key.Cluster {
			return ended(i.Status)
		}
	}
	return false
}

func ended(raw *runtime.RawExtension) bool {
	if raw == nil {
		return false
	}
	var status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	}
	if err := json.Unmarshal(raw.Raw, &status); err != nil {
		return false
	}
	for _, c := range status.Conditions {
		if (c.Type == "Complete" || c.Type == "Failed") && c.Status == "True" {
			return true
		}
	}
	return false
}
