// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
)

// Whose a binding is, its owner says, and the name of the binding confirms it. What the
// spec says of the template is words, which somebody may have edited: they count where
// nobody owns the binding, and for the version, which is no part of who the template is.

// Template returns the key of the binding's template.
func (b *Binding) Template() TemplateKey {
	owner := keyOf(b.Owner)
	if owner.Kind == "" || b.Names(owner) || BindingOf(owner) != b.Key {
		return b.Named()
	}
	return owner
}

// Named returns the template that the binding's spec names.
func (b *Binding) Named() TemplateKey { return keyOf(b.Spec.Resource) }

// Names reports whether the binding's spec names the template, in any version.
func (b *Binding) Names(key TemplateKey) bool {
	named := b.Named()
	return named.APIVersion != "" && named.ID() == key.ID()
}

// TemplateUID returns the uid of the binding's template; empty: it does not exist yet.
func (b *Binding) TemplateUID() types.UID {
	if b.Owner.UID != "" {
		return b.Owner.UID
	}
	return b.Spec.Resource.UID
}

// IsOf reports whether the binding belongs to the template of that name. It does not if
// it is of another template that has the same binding name: names end in hashes of 40
// bits, so somebody can produce a collision. A binding that names no template, or one
// whose binding has another name (somebody edited it), counts as the template's.
func (b *Binding) IsOf(key TemplateKey) bool {
	is := b.Template()
	return is.Kind == "" || is.ID() == key.ID() || BindingOf(is) != b.Key
}

// Of reports whether the binding belongs to the template as it was read: it has its uid,
// whatever name the binding has for it, or IsOf.
func (b *Binding) Of(t *Template) bool {
	return t.UID != "" && t.UID == b.TemplateUID() || b.IsOf(t.Key)
}

// OwnedBy makes the template the binding's owner, in place, if it is not.
func (b *Binding) OwnedBy(t *Template) {
	k := t.Key
	if b.Owner.UID != t.UID || keyOf(b.Owner).ID() != k.ID() {
		b.Owner = workv1alpha2.ObjectReference{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, UID: t.UID}
	}
}

// Read returns the key in the version in which the binding has its template read.
func (b *Binding) Read(key TemplateKey) TemplateKey {
	if b.Names(key) {
		key.APIVersion = b.Spec.Resource.APIVersion
	}
	return key
}

func keyOf(r workv1alpha2.ObjectReference) TemplateKey {
	return TemplateKey{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}
