// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// at is the value at the path; nil where there is none.
func at(obj map[string]any, path ...string) any {
	var v any = obj
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// number is the whole number at the path, however it was decoded; 0 where there
// is none.
func number(obj map[string]any, path ...string) int64 {
	n, _ := whole(at(obj, path...))
	return n
}

func whole(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int:
		return int64(n), true
	case int32:
		return int64(n), true
	case float64:
		return int64(n), true
	}
	return 0, false
}

// numberOr is number, and other where there is none.
func numberOr(obj map[string]any, other int64, path ...string) int64 {
	if n, ok := whole(at(obj, path...)); ok {
		return n
	}
	return other
}

func text(obj map[string]any, path ...string) string {
	s, _ := at(obj, path...).(string)
	return s
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

// condition is the status of the condition of the type: True, False, Unknown,
// or empty.
func condition(obj map[string]any, conditionType string) string {
	for _, c := range elements(obj, "status", "conditions") {
		if c["type"] == conditionType {
			return text(c, "status")
		}
	}
	return ""
}

// KindOf is "group/kind" of an object.
func KindOf(obj map[string]any) string { return kindKey(text(obj, "apiVersion"), text(obj, "kind")) }

// kindKey is "group/kind", the key of the rules.
func kindKey(apiVersion, kind string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	return group + "/" + kind
}

func encode(v map[string]any) *runtime.RawExtension {
	if len(v) == 0 {
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil // decoded JSON always encodes
	}
	return &runtime.RawExtension{Raw: raw}
}

// decode is the object that was encoded; nil where there is none.
func decode(raw *runtime.RawExtension) map[string]any {
	var v map[string]any
	if raw == nil || utiljson.Unmarshal(raw.Raw, &v) != nil {
		return nil
	}
	return v
}
