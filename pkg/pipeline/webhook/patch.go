// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// operation is one of a JSON patch. The only one is add, which also replaces
// what is there.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch is what turns one document into the other, where nothing is taken away.
func patch(from, to any) ([]operation, error) {
	before, err := tree(from)
	if err != nil {
		return nil, err
	}
	after, err := tree(to)
	if err != nil {
		return nil, err
	}
	return additions("", before, after), nil
}

// tree is a value as JSON decodes it.
func tree(v any) (t any, err error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return t, json.Unmarshal(raw, &t)
}

// additions go as deep as they can, so that they touch nothing that is beside
// what they change, and that the documents do not know.
func additions(path string, before, after any) []operation {
	var ops []operation
	switch a := after.(type) {
	case map[string]any:
		b, ok := before.(map[string]any)
		if !ok {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(a)) {
			ops = append(ops, additions(path+"/"+escape.Replace(key), b[key], a[key])...)
		}
		return ops
	case []any:
		b, ok := before.([]any)
		if !ok || len(a) != len(b) || !slices.ContainsFunc(a, isObject) {
			break // to add at an index would insert
		}
		for i := range a {
			ops = append(ops, additions(path+"/"+strconv.Itoa(i), b[i], a[i])...)
		}
		return ops
	}
	if reflect.DeepEqual(before, after) {
		return nil
	}
	return []operation{{Op: "add", Path: path, Value: after}}
}

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

// escape makes a key a part of a JSON pointer.
var escape = strings.NewReplacer("~", "~0", "/", "~1")
