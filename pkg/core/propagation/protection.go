// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

// LabelDeletionProtected with the value DeletionProtected keeps an object from
// being deleted, which the API server sees to (config/400-config). Where somebody
// gets around that, members keep what was made of a template that had it, or that
// went with a namespace that had it.
const (
	LabelDeletionProtected = "resourcetemplate.karmada.io/deletion-protected"
	DeletionProtected      = "Always"
)

// AnnotationShielded on a Work, "true", records that the namespace of its template
// was protected when it was rendered: if that goes nevertheless, what was made of
// its templates stays in the members.
const AnnotationShielded = "sluice.dev/namespace-deletion-protected"

// Shielded tells whether the namespace of the Work's template was protected.
func (w *Work) Shielded() bool { return w.Annotations[AnnotationShielded] == "true" }

// AnnotationDeletionProtected on a binding, "true", records that its template was
// protected while it was there.
const AnnotationDeletionProtected = "sluice.dev/deletion-protected"

// Protected reports whether the labels protect an object from deletion.
func Protected(labels map[string]string) bool {
	return labels[LabelDeletionProtected] == DeletionProtected
}

// Protected tells whether the binding's template is, or was, protected itself.
func (b *Binding) Protected() bool { return b.Annotations[AnnotationDeletionProtected] != "" }

// Preserves reports whether the members keep the object when its template is deleted,
// where nothing else protects it.
func (b *Binding) Preserves() bool {
	keep := b.Spec.PreserveResourcesOnDeletion
	return b.Protected() || keep != nil && *keep
}
