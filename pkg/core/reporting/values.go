// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"encoding/json"

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

func text(obj map[string]any, path ...string) string {
	s, _ := at(obj, path...).(string)
	return s
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
