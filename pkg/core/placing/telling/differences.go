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
	"sluice.dev/pkg/core/propagation"
)

const (
	// maxDifferences is how many fields of an object are named.
	maxDifferences = 100
	// wholeObject stands for an object that the member does not have at all.
	wholeObject = "(the whole object)"
)

// Differences returns the fields of the manifest that the object has other values for, at
// most the first hundred. Fields that only the object has belong to the member. It
// returns no values of a Secret.
func Differences(manifest, object map[string]any) []placementv1.PatchDetail {
	if object == nil {
		return []placementv1.PatchDetail{{Path: "/", ValueInHub: wholeObject}}
	}
	return compare(manifest, object, false)
}

// AllDifferences returns Differences, and the fields that only the object has, except its
// status and what an API server or Sluice writes.
func AllDifferences(manifest, object map[string]any) []placementv1.PatchDetail {
	if object == nil {
		return Differences(manifest, nil)
	}
	return compare(bare(manifest), bare(object), true)
}

// bare returns the object without the parts that are not compared.
func bare(object map[string]any) map[string]any {
	out := maps.Clone(object)
	delete(out, "status")
	was, _ := object["metadata"].(map[string]any)
	meta := map[string]any{"name": was["name"]}
	for _, k := range []string{"labels", "annotations"} {
		all, _ := was[k].(map[string]any)
		kept := map[string]any{}
		for key, value := range all {
			if !propagation.IsSystemKey(key) && !unmanaged[key] {
				kept[key] = value
			}
		}
		if len(kept) > 0 {
			meta[k] = kept
		}
	}
	out["metadata"] = meta
	return out
}

// unmanaged are the labels and annotations that each cluster, or Sluice, writes by
// itself.
var unmanaged = map[string]bool{
	"kubernetes.io/metadata.name": true, "karmada.io/managed": true, "deployment.kubernetes.io/revision": true,
}

func compare(manifest, object map[string]any, full bool) []placementv1.PatchDetail {
	c := comparison{full: full}
	c.compare("", manifest, object)
	if propagation.IsSecret(manifest) {
		for i := range c.found {
			c.found[i].ValueInMember, c.found[i].ValueInHub = hidden, hidden
		}
	}
	return c.found
}

// hidden replaces a value that must not be shown.
const hidden = "***"

// comparison collects differences; full: including fields that only the object has.
type comparison struct {
	full  bool
	found []placementv1.PatchDetail
}

func (c *comparison) compare(path string, asked, has any) {
	if len(c.found) >= maxDifferences {
		return
	}
	switch a := asked.(type) {
	case map[string]any:
		h, _ := has.(map[string]any)
		for _, k := range c.keys(a, h) {
			c.compare(path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(k), a[k], h[k])
		}
		return
	case []any:
		if h, ok := has.([]any); ok && len(h) == len(a) {
			for i := range a {
				c.compare(path+"/"+strconv.Itoa(i), a[i], h[i])
			}
			return
		}
	case nil:
		if !c.full || has == nil {
			return
		}
	}
	if fmt.Sprint(asked) != fmt.Sprint(has) {
		c.found = append(c.found, placementv1.PatchDetail{Path: path, ValueInMember: shown(has), ValueInHub: shown(asked)})
	}
}

// keys returns the keys to compare, in order.
func (c *comparison) keys(asked, has map[string]any) []string {
	keys := slices.Collect(maps.Keys(asked))
	if c.full {
		for k := range has {
			if _, both := asked[k]; !both {
				keys = append(keys, k)
			}
		}
	}
	slices.Sort(keys)
	return keys
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
