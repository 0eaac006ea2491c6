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

// ownership says whose an object is.
type ownership int

const (
	ours ownership = iota
	// unmarked: it lost the label of its Work, and is the one that we applied.
	unmarked
	takeable
	somebodys
)

// whose tells whose the object is. One that was taken from us, by another Work or
// another hub, is not taken back: two who do that never end.
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

// made tells whether the object is a namespace that we made ourselves before its
// template was propagated.
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

// recorded tells whether the Work says that the manifest of that hash was
// applied.
func recorded(in Input, hash string) bool { return in.Known != nil && in.Known.ManifestHash == hash }

// marked tells whether the manifest of that hash was applied to the object, which
// is then the object's own word.
func marked(in Input, hash string) bool { return in.Live.Value.Manifest == hash }

// drifted tells whether the object is no more what was applied last: it was made
// anew, somebody else wrote a field of ours, or another manifest was applied
// since, which the Work does not say.
func drifted(in Input) bool {
	a, o := in.Known, in.Live.Value
	return o.UID != a.UID || o.FieldsHash != a.FieldsHash || o.Manifest != a.ManifestHash
}

// intact tells whether the object is known to say what the manifest asks for: of
// one that is observed in part, and of a manifest that is sealed, nobody knows.
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

// contains tells whether all that is asked for is there as asked, whatever else
// there is. What an API server writes in another form (a quantity, say) is taken
// for a difference: an apply too many does no harm.
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
