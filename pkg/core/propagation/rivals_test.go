// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"fmt"
	"strings"
	"testing"
)

// Whoever may write Works may forge who wants what they have. What follows from the
// annotation are requests by these names.
func TestZ33ForgedRivalsNameNobody(t *testing.T) {
	one := func(name, form string) string {
		return fmt.Sprintf(`[{"name":%q,"form":%q,"object":{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"pages"},"by":"the placement two"}]`, name, form)
	}
	many := func(n int) string { return "[" + strings.Repeat(`{"name":"two-work"},`, n-1) + `{"name":"two-work"}]` }
	for name, tc := range map[string]struct {
		says string
		want int
	}{
		"nothing":                     {"", 0},
		"no JSON":                     {"two-work", 0},
		"a Work of a placement":       {one("two-work", string(PlacementForm)), 1},
		"a Work of a policy":          {one("pages-configmap", string(PolicyForm)), 1},
		"no name":                     {one("", string(PlacementForm)), 0},
		"a path":                      {one("../secrets/x", string(PlacementForm)), 0},
		"a name that begins a path":   {one("..", string(PlacementForm)), 0},
		"a form that there is not":    {one("two-work", "Other"), 0},
		"one that is right, and not":  {strings.TrimSuffix(one("two-work", string(PlacementForm)), "]") + "," + strings.TrimPrefix(one("a/b", ""), "["), 0},
		"as many as there may be":     {many(MaxRivals), MaxRivals},
		"more than a Work ever names": {many(MaxRivals + 1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Work{Annotations: map[string]string{AnnotationRivals: tc.says}}
			if got := len(w.Rivals()); got != tc.want {
				t.Errorf("%d are named, want %d", got, tc.want)
			}
		})
	}
}
