// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/pkg/core/propagation"
)

func TestZ12FeaturesFrom(t *testing.T) {
	for name, tc := range map[string]struct {
		data map[string]string
		want propagation.Features
		bad  []string
	}{
		"nobody set any":                   {},
		"the removal budget by its name":   {data: map[string]string{"RemovalBudget": "indirect"}},
		"of all":                           {data: map[string]string{"RemovalBudget": "all"}, want: propagation.Features{Budget: propagation.BudgetAll}},
		"of none":                          {data: map[string]string{"RemovalBudget": "off"}, want: propagation.Features{Budget: propagation.BudgetOff}},
		"a word that nobody knows is none": {data: map[string]string{"RemovalBudget": "false"}, bad: []string{"RemovalBudget"}},
		"another gate":                     {data: map[string]string{"StaticPolicy": "true"}, want: propagation.Features{Static: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got, bad := propagation.FeaturesFrom(tc.data)
			if diff := cmp.Diff(tc.want, got) + cmp.Diff(tc.bad, bad); diff != "" {
				t.Error(diff)
			}
		})
	}
}
