// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

// LabelDeletionProtected with the value DeletionProtected protects an object from being
// deleted: the API server refuses that (config/400-config). If somebody bypasses it,
// members keep the objects of a template that had the label, or whose namespace had it.
const (
	LabelDeletionProtected = "resourcetemplate.karmada.io/deletion-protected"
	DeletionProtected      = "Always"
)

// AnnotationShielded on a Work, "true", records that the namespace of its template was
// protected when the Work was rendered: if the namespace is deleted all the same, the
// objects stay in the members.
const AnnotationShielded = "sluice.dev/namespace-deletion-protected"

// Shielded reports whether the namespace of the Work's template was protected.
func (w *Work) Shielded() bool { return w.Annotations[AnnotationShielded] == "true" }

// AnnotationDeletionProtected on a binding, "true", records that its template was
// protected while it existed.
const AnnotationDeletionProtected = "sluice.dev/deletion-protected"

// Protected reports whether the labels protect an object from deletion.
func Protected(labels map[string]string) bool {
	return labels[LabelDeletionProtected] == DeletionProtected
}

// Protected reports whether the binding's template itself is, or was, protected.
func (b *Binding) Protected() bool { return b.Annotations[AnnotationDeletionProtected] != "" }

// Preserves reports whether the members keep the object when its template is deleted,
// where nothing else protects it.
func (b *Binding) Preserves() bool {
	keep := b.Spec.PreserveResourcesOnDeletion
	return b.Protected() || keep != nil && *keep
}
