// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"strings"
	"testing"

	placementv1 "sluice.dev/apis/placement/v1"
)

func TestZ3APlacementsWorkIsWhoseNameAndLabelSay(t *testing.T) {
	for name, tc := range map[string]struct{ work, label, want string }{
		"its first Work":                    {"shop-work", "shop", "shop"},
		"that of a part":                    {"shop-12", "shop", "shop"},
		"that of an envelope":               {EnvelopeWorkName("shop", "a", "b"), "shop", "shop"},
		"of a placement that ends in -work": {"shop-work-work", "shop-work", "shop-work"},
		"of one that ends in a number":      {"shop-1-2", "shop-1", "shop-1"},
		"of one that ends like an envelope": {"shop-configmap-2", "shop-configmap", "shop-configmap"},
		"its label was taken off":           {"shop-work", "", ""},
		"its label names another placement": {"shop-work", "bank", ""},
		"a part of one of a longer name":    {"shop-1-1", "shop", ""},
		"a number that no part has":         {"shop-1000", "shop", ""},
		"a number with a zero before":       {"shop-01", "shop", ""},
		"a hash that is too short":          {"shop-configmap-abc", "shop", ""},
		"somebody's own Work":               {"mine", "shop", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Work{Key: WorkKey{Cluster: "m1", Name: tc.work, Form: PlacementForm}, Labels: map[string]string{placementv1.LabelParentCRP: tc.label}}
			if got := w.Placement(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestOwnsAsPlacement(t *testing.T) {
	long := strings.Repeat("a", 60)
	owner := func(name string) string {
		return WorkKey{Name: name, Form: PlacementForm}.Owner()
	}
	for name, tc := range map[string]struct {
		placement, owner string
		want             bool
	}{
		"its first Work":                   {"shop", owner("shop-work"), true},
		"that of a part":                   {"shop", owner("shop-12"), true},
		"that of an envelope":              {"shop", owner(EnvelopeWorkName("shop", "a", "b")), true},
		"that of a part, with a long name": {long, owner(long + "-12"), true},
		"a placement of a longer name":     {"shop", owner("shop-1-work"), false},
		"a part of one of a longer name":   {"shop", owner("shop-1-1"), false},
		"a placement of a shorter name":    {"shop-1", owner("shop-1"), false},
		"an envelope of another":           {"shop", owner(EnvelopeWorkName("shop-configmap", "a", "b")), false},
		"a Work of a policy":               {"shop", "shop-work", false},
		"nobody":                           {"shop", "", false},
		"no placement":                     {"", owner("-work"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := OwnsAsPlacement(tc.placement, tc.owner); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
