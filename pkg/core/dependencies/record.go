// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package dependencies

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"sluice.dev/pkg/core/propagation"
)

// Recorded returns the objects that the binding records its template refers to.
func Recorded(b *propagation.Binding) []propagation.TemplateKey {
	var keys []propagation.TemplateKey
	if err := json.Unmarshal([]byte(b.Annotations[propagation.AnnotationDependencies]), &keys); err != nil {
		return nil // none, or none of ours
	}
	return keys
}

// Refers reports whether the binding records that its template refers to the object.
func Refers(b *propagation.Binding, to propagation.TemplateKey) bool {
	return slices.ContainsFunc(Recorded(b), func(k propagation.TemplateKey) bool { return k.ID() == to.ID() })
}

// Stray returns the parents that a dependency's binding names and that do not record it:
// they are gone, or were created again under the old name. find returns the binding of a
// key, nil if there is none.
func Stray(b *propagation.Binding, find func(propagation.BindingKey) *propagation.Binding) []propagation.BindingKey {
	var stray []propagation.BindingKey
	for _, r := range b.Spec.RequiredBy {
		key := propagation.BindingKey{Namespace: r.Namespace, Name: r.Name}
		if p := find(key); p == nil || !Refers(p, b.Template()) {
			stray = append(stray, key)
		}
	}
	return stray
}

// Behind returns the parents that refer to the template and go to a cluster to which, as
// its binding b says, they do not take it: it was not said yet, or somebody edited it.
func Behind(b *propagation.Binding, template propagation.TemplateKey, parents iter.Seq[*propagation.Binding]) []*propagation.Binding {
	var behind []*propagation.Binding
	for p := range parents {
		if !p.Deleting && Refers(p, template) && (!Requires(b, p.Key) || slices.ContainsFunc(p.TargetClusters(), func(c string) bool { return !Takes(b, p.Key, c) })) {
			behind = append(behind, p)
		}
	}
	return behind
}

// Record returns the binding with the objects recorded that its template refers to; the
// binding itself where nothing changes.
func Record(b *propagation.Binding, keys []propagation.TemplateKey) *propagation.Binding {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b propagation.TemplateKey) int { return strings.Compare(a.ID(), b.ID()) })
	keys = slices.Compact(keys)
	next := clone(b)
	delete(next.Annotations, propagation.AnnotationDependencies)
	if len(keys) > 0 {
		raw, err := json.Marshal(keys)
		if err != nil {
			return b // strings always encode
		}
		next.Annotations[propagation.AnnotationDependencies] = string(raw)
	}
	return done(b, next)
}
