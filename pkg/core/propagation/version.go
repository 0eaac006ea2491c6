// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import "maps"

// A version is how an object is read, and no part of who it is, nor of what its
// owner says. Hashes were always taken of the object as it was read, its apiVersion
// included: they are compared as of the version of then.

// As returns the template with another apiVersion, one that has the same fields.
func (t *Template) As(apiVersion string) *Template {
	if t.Object["apiVersion"] == apiVersion {
		return t
	}
	as := *t
	as.Object = maps.Clone(t.Object)
	as.Object["apiVersion"] = apiVersion
	as.Hash = HashContent(as.Object)
	return &as
}

// KnownTo is the template by the name, in all but its object, that the binding has
// for it, in whatever version it was read. Where it says what was acted on, in the
// words of the version of then, it says so in these; and so it does where nobody has
// written it since, and the API server has put fields into it that were not there.
func (t *Template) KnownTo(b *Binding) *Template {
	if b == nil || !b.IsOf(t.Key) || b.AwaitsTemplate() || b.Spec.Resource.APIVersion == "" {
		return t
	}
	known := *t
	if as := t.As(b.Spec.Resource.APIVersion); t.Hash != b.ActedHash() && as.Hash == b.ActedHash() {
		known = *as
	}
	known.Key.APIVersion = b.Spec.Resource.APIVersion
	if t.unwritten(b) {
		known.Hash = b.ActedHash()
	}
	return &known
}
