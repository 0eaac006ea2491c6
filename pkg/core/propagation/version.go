// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import "maps"

// An object may be read in one version or another. The version identifies neither the
// object nor what its owner wrote. But hashes cover the apiVersion in which the object
// was read, so two hashes can be compared only as of the same version.

// As returns the template with another apiVersion, which has to have the same fields.
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

// KnownTo returns the template under the apiVersion that the binding has for it,
// whatever version it was read in. The object and its hash stay as they were read, with
// two exceptions. If the content was acted on under the binding's version, object and
// hash are given in that version. If nobody has written the template since, and only
// the API server filled in fields, the hash is the one acted on.
func (t *Template) KnownTo(b *Binding) *Template {
	if b == nil || !b.Of(t) || b.AwaitsTemplate() {
		return t
	}
	known := *t
	if b.Names(t.Key) {
		if as := t.As(b.Spec.Resource.APIVersion); t.Hash != b.ActedHash() && as.Hash == b.ActedHash() {
			known = *as
		}
		known.Key.APIVersion = b.Spec.Resource.APIVersion
	}
	if t.unwritten(b) {
		known.Hash = b.ActedHash()
	}
	return &known
}
