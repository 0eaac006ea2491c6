// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import "maps"

// at is the value at the path; nil where there is none.
func at(obj map[string]any, path ...string) any {
	var v any = obj
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// child is the object at the path; nil where there is none.
func child(obj map[string]any, path ...string) map[string]any {
	m, _ := at(obj, path...).(map[string]any)
	return m
}

func text(obj map[string]any, path ...string) string {
	s, _ := at(obj, path...).(string)
	return s
}

// number is the whole number at the path, however it was decoded; 0 where there is
// none.
func number(obj map[string]any, path ...string) int64 { return numberOr(obj, 0, path...) }

// numberOr is number, and other where there is none.
func numberOr(obj map[string]any, other int64, path ...string) int64 {
	switch n := at(obj, path...).(type) {
	case int64:
		return n
	case int:
		return int64(n)
	case int32:
		return int64(n)
	case float64:
		return int64(n)
	}
	return other
}

// elements are those of a list that are objects.
func elements(obj map[string]any, path ...string) []map[string]any {
	list, _ := at(obj, path...).([]any)
	var out []map[string]any
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// condition is the status of the condition of the type: True, False, Unknown, or
// empty.
func condition(obj map[string]any, conditionType string) string {
	for _, c := range elements(obj, "status", "conditions") {
		if c["type"] == conditionType {
			return text(c, "status")
		}
	}
	return ""
}

// drop deletes keys of the object m[field], and the object where it is empty then.
func drop(m map[string]any, field string, keys ...string) {
	inner := child(m, field)
	for _, k := range keys {
		delete(inner, k)
	}
	if _, is := m[field].(map[string]any); is && len(inner) == 0 {
		delete(m, field)
	}
}

func copyOf(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	maps.Copy(out, m)
	return out
}
