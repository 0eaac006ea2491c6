// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	placementv1 "sluice.dev/apis/placement/v1"
)

// maxDifferences is how many fields of an object are named.
const maxDifferences = 100

// Differences are the fields that the manifest asks for and the object has
// otherwise, the first hundred. What the object has beside them is the member's.
func Differences(manifest, object map[string]any) []placementv1.PatchDetail {
	var out []placementv1.PatchDetail
	differences("", manifest, object, &out)
	return out
}

func differences(path string, asked, has any, out *[]placementv1.PatchDetail) {
	if len(*out) >= maxDifferences {
		return
	}
	switch a := asked.(type) {
	case map[string]any:
		h, _ := has.(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(a)) {
			differences(path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(k), a[k], h[k], out)
		}
		return
	case []any:
		if h, ok := has.([]any); ok && len(h) == len(a) {
			for i := range a {
				differences(path+"/"+strconv.Itoa(i), a[i], h[i], out)
			}
			return
		}
	case nil:
		return
	}
	if fmt.Sprint(asked) != fmt.Sprint(has) {
		*out = append(*out, placementv1.PatchDetail{Path: path, ValueInMember: shown(has), ValueInHub: shown(asked)})
	}
}

func shown(v any) string {
	if s, ok := v.(string); ok || v == nil {
		return s
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}
