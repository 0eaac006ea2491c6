// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// ownership says who an object belongs to.
type ownership int

const (
	ours ownership = iota
	// unmarked: the Work applied it, and it lost the label.
	unmarked
	takeable
	somebodys
)

// whose returns who the object belongs to. An object that another Work or another hub
// took over is not taken back: otherwise two of them would take it from each other for
// ever.
func whose(in Input) ownership {
	o := in.Live.Value
	applied := in.Known != nil && in.Known.UID == o.UID
	switch {
	case o.Ours(in.Work) && !in.elsewhere():
		return ours
	case o.Work == "" && applied && !in.elsewhere():
		return unmarked
	case made(o):
		return takeable
	case applied:
		return somebodys
	case in.TakeOver == TakeOverAlways, in.TakeOver == TakeOverIfNoDiff && intact(in.Manifest, o):
		return takeable
	}
	return somebodys
}

// made reports whether the object is a namespace that Sluice created before the
// namespace's template was propagated.
func made(o *Observed) bool {
	obj := unstructured.Unstructured{Object: o.Object}
	return obj.GetKind() == "Namespace" && o.Work == "" && obj.GetLabels()[LabelCreated] == "true"
}

// KnownOf returns the state that the Work records as applied last for the manifest; nil
// if none. A Work with several manifests records it beside the status of each.
func KnownOf(w *propagation.Work, manifest map[string]any) *workv1alpha1.AppliedState {
	if len(w.Spec.Workload.Manifests) < 2 {
		return w.Status.Applied
	}
	u := unstructured.Unstructured{Object: manifest}
	for _, m := range w.Status.ManifestStatuses {
		i := m.Identifier
		if gvk := u.GroupVersionKind(); i.Group == gvk.Group && i.Kind == gvk.Kind && i.Namespace == u.GetNamespace() && i.Name == u.GetName() {
			return m.Applied
		}
	}
	return nil
}

// recorded reports whether the Work records that the manifest with that hash was
// applied.
func recorded(in Input, hash string) bool { return in.Known != nil && in.Known.ManifestHash == hash }

// marked reports whether the object itself says, by its annotation, that the manifest
// with that hash was applied.
func marked(in Input, hash string) bool { return in.Live.Value.Manifest == hash }

// drifted reports whether the object is no longer what was applied last: it was created
// again, somebody else wrote one of Sluice's fields, or another manifest was applied
// since that the Work does not record.
func drifted(in Input) bool {
	a, o := in.Known, in.Live.Value
	return o.UID != a.UID || o.FieldsHash != a.FieldsHash || o.Manifest != a.ManifestHash
}

// intact reports whether the object is known to have everything that the manifest asks
// for. If the object was read without its data, or the manifest is sealed, that is not
// known.
func intact(manifest map[string]any, o *Observed) bool {
	if o.Partial || propagation.SealedHash(manifest) != "" {
		return false
	}
	asked := maps.Clone(manifest)
	if RetainsReplicas(asked) {
		LeaveReplicas(asked, o)
	}
	LeaveNodePorts(asked, o)
	return contains(o.Object, asked)
}

// contains reports whether live has everything that is asked for; it may have more. A
// value that an API server writes in another form, such as a quantity, counts as a
// difference: then a manifest is applied once too often, which does no harm.
func contains(live, asked any) bool {
	switch asked := asked.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return len(asked) == 0
		}
		for k, v := range asked {
			if !contains(l[k], v) {
				return false
			}
		}
		return true
	case []any:
		l, _ := live.([]any)
		if len(l) != len(asked) {
			return false
		}
		for i := range asked {
			if !contains(l[i], asked[i]) {
				return false
			}
		}
		return true
	case nil:
		return true // a field that is null is not asked for
	}
	return fmt.Sprint(live) == fmt.Sprint(asked)
}
