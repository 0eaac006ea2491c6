// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Own has the abilities that the owner of a kind gives it. Each replaces the built-in
// one; nil keeps that. If one returns an error, its caller keeps the present state.
type Own struct {
	// Replicas is how many of an object run.
	Replicas func(obj map[string]any) (int32, error)
	// SetReplicas writes a member's share into the object.
	SetReplicas func(obj map[string]any, n int32) error
	// Health of a member's object.
	Health func(obj map[string]any) (Health, error)
	// Report is the part of a member's status that is reported.
	Report func(obj map[string]any) (map[string]any, error)
	// Total returns the fields of the template's status that are computed from the
	// members'; a field with the value nil is removed.
	Total func(template map[string]any, members []Member) (map[string]any, error)
	// References are the objects that an object refers to.
	References func(obj map[string]any) ([]propagation.TemplateKey, error)
	// MemberFields are the fields that belong to the member.
	MemberFields []Path
	// By says who gives them, as propagation.AnnotationInterpreter holds it.
	By string
	// Undefined is why nobody knows what the owner said; nil: it is known.
	Undefined error
}

// Undefined has the abilities of a kind of which nobody knows any more what its owner said,
// and nobody took that back. Each returns why.
func Undefined(by string, why error) Own {
	return Own{
		By: by, Undefined: why,
		Replicas:    func(map[string]any) (int32, error) { return 0, why },
		SetReplicas: func(map[string]any, int32) error { return why },
		Health:      func(map[string]any) (Health, error) { return workv1alpha1.ResourceUnknown, why },
		Report:      func(map[string]any) (map[string]any, error) { return nil, why },
		Total:       func(map[string]any, []Member) (map[string]any, error) { return nil, why },
		References:  func(map[string]any) ([]propagation.TemplateKey, error) { return nil, why },
	}
}

// Path of a field, by the names of the objects that it is in.
type Path []string

// ParsePath reads a path as people write it: spec.size.
func ParsePath(text string) (Path, error) {
	p := Path(strings.Split(strings.TrimPrefix(text, "."), "."))
	switch {
	case slices.Contains(p, ""):
		return nil, fmt.Errorf("%q is no path: write one as spec.size", text)
	case strings.ContainsAny(text, "[]*,'\" "):
		return nil, fmt.Errorf("%q names an element: a path names fields of objects, as spec.size does", text)
	case len(p) < 2 || p[0] != "spec":
		return nil, fmt.Errorf("%q is not below spec", text)
	}
	return p, nil
}

// String is the path as people write it.
func (p Path) String() string { return strings.Join(p, ".") }

// In is the value at the path; false: there is none.
func (p Path) In(obj map[string]any) (any, bool) {
	last := len(p) - 1
	m := child(obj, p[:last]...)
	v, ok := m[p[last]]
	return v, ok
}

// Put writes the value into the object, in place. An error says what is in the way.
func (p Path) Put(obj map[string]any, v any) error {
	last := len(p) - 1
	for i, name := range p[:last] {
		next, is := obj[name].(map[string]any)
		if obj[name] != nil && !is {
			return fmt.Errorf("%s is no object", p[:i+1])
		}
		if next == nil {
			next = map[string]any{}
			obj[name] = next
		}
		obj = next
	}
	obj[p[last]] = v
	return nil
}

// Table is what is known of kinds: what is built in, and what their owners say. The
// zero value has what is built in. A Table is never changed.
type Table struct{ own map[schema.GroupKind]Own }

// NewTable makes a table with what owners say.
func NewTable(own map[schema.GroupKind]Own) Table { return Table{maps.Clone(own)} }

// Of is what is known of the object's kind.
func (t Table) Of(obj map[string]any) Kind {
	return t.Named(schema.FromAPIVersionAndKind(text(obj, "apiVersion"), text(obj, "kind")).GroupKind())
}

// Named is what is known of the kind.
func (t Table) Named(gk schema.GroupKind) Kind {
	k := Named(gk)
	k.own = t.own[gk]
	return k
}

// over returns the template's status with the fields of said written over it; a field
// with the value nil is removed.
func over(status, said map[string]any) map[string]any {
	out := copyOf(status)
	for k, v := range said {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = v
		}
	}
	return out
}
