// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"sluice.dev/pkg/core/propagation"
)

// mark gives the manifest, in place, what clients of the released API look for on an
// object in a member: the permanent id of its binding, and the name of the policy that
// was in force when its content was acted on. A binding without such an id marks
// nothing: what it rendered stays as it is.
func mark(b *propagation.Binding, manifest map[string]any) {
	id := b.PermanentID()
	if id == "" {
		return
	}
	meta := child(manifest, "metadata")
	put(meta, "labels", propagation.BindingIDLabel(b.Key), id)
	_, annotations := b.ActiveClaim().Metadata()
	for key, value := range annotations {
		if value != nil {
			put(meta, "annotations", key, *value)
		}
	}
}

// Unmarked is a copy of the manifest without its marks: what people wrote, and what
// overrides make of that.
func Unmarked(manifest map[string]any) map[string]any {
	out, _ := clone(manifest).(map[string]any)
	meta := child(out, "metadata")
	drop(meta, "labels", propagation.LabelBindingID, propagation.LabelClusterBindingID)
	drop(meta, "annotations", propagation.ClaimNamespacedNamespace, propagation.ClaimNamespacedName, propagation.ClaimClusterName)
	return out
}

// put sets one entry of a map in an object's metadata.
func put(meta map[string]any, field, key, value string) {
	m, _ := meta[field].(map[string]any)
	if m == nil {
		m = map[string]any{}
		meta[field] = m
	}
	m[key] = value
}
