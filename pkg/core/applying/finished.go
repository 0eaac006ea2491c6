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

// Over tells whether the object is a Job that is removed when it has ended, and has.
func Over(obj map[string]any) bool {
	u := unstructured.Unstructured{Object: obj}
	if !RunsOnce(propagation.TemplateKey{APIVersion: u.GetAPIVersion(), Kind: u.GetKind()}) {
		return false
	}
	if _, ends, err := unstructured.NestedFieldNoCopy(obj, "spec", "ttlSecondsAfterFinished"); !ends || err != nil {
		return false
	}
	raw, err := json.Marshal(obj["status"])
	return err == nil && ended(&runtime.RawExtension{Raw: raw})
}

// last is the Work's own object as it was last, which has come to its end and is gone;
// nil: that is not known. One that was applied for an earlier Work of the name says
// nothing of what this one has to do.
func (in Input) last() *Observed {
	o := in.Live.Last
	if in.Live.Answer != Absent || o == nil || !o.Ours(in.Work) || !Over(o.Object) {
		return nil
	}
	if in.Known != nil && in.Known.UID == o.UID || in.Work.UID != "" && o.For == in.Work.UID {
		return o
	}
	return nil
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
