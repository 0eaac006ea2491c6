// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"bytes"
	"encoding/json"
	"reflect"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// same tells whether two values are the same JSON, whatever the order of keys.
func same(a, b any) (bool, error) {
	ja, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	jb, err := json.Marshal(b)
	if err != nil {
		return false, err
	}
	if bytes.Equal(ja, jb) {
		return true, nil
	}
	var va, vb any
	if err := utiljson.Unmarshal(ja, &va); err != nil {
		return false, err
	}
	if err := utiljson.Unmarshal(jb, &vb); err != nil {
		return false, err
	}
	return reflect.DeepEqual(va, vb), nil
}

// patchOf is the JSON merge patch (RFC 7396) that makes new of old, both of
// which are objects in JSON; nil where they are the same. It is no call of
// jsonpatch.CreateMergePatch, which takes all numbers for floating point: of two
// integers beyond 53 bits that differ by one it says that they are the same, and the
// write would be left out (TestTheLibraryLosesLargeIntegers).
func patchOf(old, new any) (map[string]any, error) {
	a, err := decoded(old)
	if err != nil {
		return nil, err
	}
	b, err := decoded(new)
	if err != nil {
		return nil, err
	}
	return diff(a, b), nil
}

func decoded(v any) (map[string]any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	err = utiljson.Unmarshal(raw, &m)
	return m, err
}

func diff(old, new map[string]any) map[string]any {
	patch := map[string]any{}
	for key := range old {
		if _, ok := new[key]; !ok {
			patch[key] = nil
		}
	}
	for key, n := range new {
		o, ok := old[key]
		om, wasMap := o.(map[string]any)
		nm, isMap := n.(map[string]any)
		switch {
		case wasMap && isMap:
			if d := diff(om, nm); d != nil {
				patch[key] = d
			}
		case !ok || !reflect.DeepEqual(o, n):
			patch[key] = n
		}
	}
	if len(patch) == 0 {
		return nil
	}
	return patch
}
