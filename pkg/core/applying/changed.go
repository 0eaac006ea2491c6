// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
)

// Changed names the fields for which the member, asked to apply an object, has another
// value in its answer: its admission changed them. Nobody is named in the managed fields
// for that, so they do not tell. The answer may have more, and have left something out.
//
// A value that an API server only writes in another way must not count. So only single
// values are compared, and of lists those elements that have a name of their own.
func Changed(asked, answer map[string]any) string {
	var paths []string
	for _, k := range slices.Sorted(maps.Keys(asked)) {
		switch k {
		case "apiVersion", "kind", "status":
		case "metadata":
			was, _ := asked[k].(map[string]any)
			is, _ := answer[k].(map[string]any)
			for _, k := range []string{"annotations", "labels"} {
				paths = append(paths, changed(was[k], is[k], "metadata."+k)...)
			}
		default:
			paths = append(paths, changed(asked[k], answer[k], k)...)
		}
	}
	if len(paths) == 0 {
		return ""
	}
	return conditions.Message(listed(paths))
}

// changed returns the paths of the values below that path which are others, sorted.
func changed(asked, answer any, at string) (paths []string) {
	switch was := asked.(type) {
	case map[string]any:
		is, _ := answer.(map[string]any)
		for _, k := range slices.Sorted(maps.Keys(was)) {
			if v, has := is[k]; has {
				paths = append(paths, changed(was[k], v, at+"."+k)...)
			}
		}
	case []any:
		list, _ := answer.([]any)
		ours, is := byName(was), byName(list)
		for _, name := range slices.Sorted(maps.Keys(ours)) {
			if v, has := is[name]; has {
				paths = append(paths, changed(ours[name], v, at+"[name="+name+"]")...)
			}
		}
	default:
		if !unset(asked, at) && otherwise(asked, answer) {
			return []string{at}
		}
	}
	return paths
}

// byName returns the elements of a list by their names; nil: they have none, or two have
// the same.
func byName(list []any) map[string]any {
	all := map[string]any{}
	for _, e := range list {
		m, _ := e.(map[string]any)
		name, ok := m["name"].(string)
		if _, twice := all[name]; !ok || twice {
			return nil
		}
		all[name] = m
	}
	return all
}

// unset reports whether an API server may take the value for none, and set its default.
// Zero replicas are none.
func unset(asked any, at string) bool {
	switch asked := asked.(type) {
	case string:
		return asked == ""
	case int64, float64:
		return number(asked) == 0 && !strings.HasSuffix(at, ".replicas")
	}
	return asked == nil
}

// otherwise reports whether the answer has another value of the same type.
func otherwise(asked, answer any) bool {
	switch asked := asked.(type) {
	case bool:
		is, ok := answer.(bool)
		return ok && is != asked
	case int64, float64:
		switch answer.(type) {
		case int64, float64:
			return number(answer) != number(asked)
		}
	case string:
		is, ok := answer.(string)
		return ok && is != asked && !sameQuantity(asked, is) && !sameTime(asked, is) && !sameBytes(asked, is)
	}
	return false
}

func number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// sameQuantity reports whether both are one quantity, rounded as API servers round them.
func sameQuantity(a, b string) bool {
	x, errX := resource.ParseQuantity(a)
	y, errY := resource.ParseQuantity(b)
	if errX != nil || errY != nil {
		return false
	}
	x.RoundUp(resource.Milli)
	y.RoundUp(resource.Milli)
	return x.Cmp(y) == 0
}

// sameTime reports whether both are one duration, or one time.
func sameTime(a, b string) bool {
	x, errX := time.ParseDuration(a)
	y, errY := time.ParseDuration(b)
	if errX == nil && errY == nil {
		return x == y
	}
	s, errS := time.Parse(time.RFC3339, a)
	t, errT := time.Parse(time.RFC3339, b)
	return errS == nil && errT == nil && s.Truncate(time.Second).Equal(t.Truncate(time.Second))
}

// sameBytes reports whether both are the same bytes in base64, however it is broken into
// lines.
func sameBytes(a, b string) bool {
	x, errX := base64.StdEncoding.DecodeString(a)
	y, errY := base64.StdEncoding.DecodeString(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// ChangedIn says for people what the cluster's admission changed of the object; nothing
// if it changed nothing.
func ChangedIn(cluster string, object propagation.TemplateKey, fields string) []string {
	if fields == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s in %s: admission of the member (a policy or a webhook) changes %s as it is applied", object, cluster, fields)}
}
