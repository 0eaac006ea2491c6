// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// RunsOnce reports whether objects of the template's kind run to completion, as a Job
// does. Such an object runs again if it is created again.
func RunsOnce(k propagation.TemplateKey) bool {
	return kinds.Named(k.GroupVersionKind().GroupKind()).Ends()
}

// Finished reports whether the manifest is a Job with a TTL that has finished, by the
// last status that is known: the Work's, or the binding's of an earlier Work. b may be
// nil.
func Finished(w *propagation.Work, b *propagation.Binding, manifest map[string]any) bool {
	u := unstructured.Unstructured{Object: manifest}
	if !kinds.Of(manifest).Ends() {
		return false
	}
	if _, ends, err := unstructured.NestedFieldNoCopy(manifest, "spec", "ttlSecondsAfterFinished"); !ends || err != nil {
		return false
	}
	for _, m := range w.Status.ManifestStatuses {
		if m.Identifier.Kind == u.GetKind() && m.Identifier.Namespace == u.GetNamespace() && m.Identifier.Name == u.GetName() {
			return ended(manifest, m.Status)
		}
	}
	if b == nil {
		return false
	}
	for _, i := range b.Status.AggregatedStatus {
		if i.ClusterName == w.Key.Cluster {
			return ended(manifest, i.Status)
		}
	}
	return false
}

// Over reports whether the object is a Job with a TTL that has finished.
func Over(obj map[string]any) bool {
	_, ends, err := unstructured.NestedFieldNoCopy(obj, "spec", "ttlSecondsAfterFinished")
	return ends && err == nil && kinds.Of(obj).Ended(obj)
}

// last returns the last state of the Work's own object, if it finished and is gone;
// nil: that is not known. An object that was applied for an earlier Work of the same
// name does not count.
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

// ended reports whether the reported status of an object of the manifest's kind says
// that the object finished.
func ended(manifest map[string]any, raw *runtime.RawExtension) bool {
	var status map[string]any
	if raw == nil || json.Unmarshal(raw.Raw, &status) != nil {
		return false
	}
	return kinds.Of(manifest).Ended(map[string]any{"status": status})
}
