// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import "strings"

// clone copies maps and lists, which are changed later; everything else is a
// value.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return nil
		}
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

// child is the object at the path; nil where there is none. Reading from nil
// and deleting from it is safe.
func child(obj map[string]any, path ...string) map[string]any {
	for _, p := range path {
		obj, _ = obj[p].(map[string]any)
	}
	return obj
}

// objects are the elements of a list that are objects.
func objects(list any) []map[string]any {
	l, _ := list.([]any)
	var out []map[string]any
	for _, e := range l {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func stringMap(v any) map[string]string {
	m, _ := v.(map[string]any)
	out := make(map[string]string, len(m))
	for k, e := range m {
		out[k] = text(e)
	}
	return out
}

// group is the API group of an object; empty: the core group.
func group(obj map[string]any) string {
	g, _, found := strings.Cut(text(obj["apiVersion"]), "/")
	if !found {
		return ""
	}
	return g
}

// drop deletes keys of the object m[field], and the object where it is empty
// then.
func drop(m map[string]any, field string, keys ...string) {
	inner := child(m, field)
	for _, k := range keys {
		delete(inner, k)
	}
	if _, isMap := m[field].(map[string]any); isMap && len(inner) == 0 {
		delete(m, field)
	}
}
