// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/pkg/core/propagation"
)

func TestZ12FeaturesFrom(t *testing.T) {
	for name, tc := range map[string]struct {
		data map[string]string
		want propagation.Features
		// unknown is what is told of what nobody understands.
		unknown []string
	}{
		"nobody set any":                 {},
		"the removal budget by its name": {data: map[string]string{"RemovalBudget": "indirect"}},
		"of all":                         {data: map[string]string{"RemovalBudget": "all"}, want: propagation.Features{Budget: propagation.BudgetAll}},
		"of none":                        {data: map[string]string{"RemovalBudget": "off"}, want: propagation.Features{Budget: propagation.BudgetOff}},
		"a budget that nobody knows is that of all": {
			data:    map[string]string{"RemovalBudget": "false"},
			want:    propagation.Features{Budget: propagation.BudgetAll},
			unknown: []string{`RemovalBudget is "false", and may be ["indirect" "all" "off"]: it is "all" until it is mended`},
		},
		"a gate that holds back and is neither on nor off is on, and told": {
			data:    map[string]string{"StaticPolicy": "ture", "PropagationPolicyPreemption": "true"},
			want:    propagation.Features{Preemption: true, Static: true},
			unknown: []string{`StaticPolicy is "ture", and may be ["true" "false"]: it is "true" until it is mended`},
		},
		"a gate that lets act and is neither on nor off is off, and told": {
			data:    map[string]string{"PropagationPolicyPreemption": "yes please", "StaticPolicy": ""},
			unknown: []string{`PropagationPolicyPreemption is "yes please", and may be ["true" "false"]: it is "false" until it is mended`},
		},
		"a key that is no gate is told": {
			data:    map[string]string{"StaticPolicies": "true"},
			unknown: []string{`"StaticPolicies" is no gate; there are Failover, PropagationPolicyPreemption, RemovalBudget, StaticPolicy`},
		},
		"an example is for people": {data: map[string]string{"_example": "StaticPolicy: on"}},
		"another gate":             {data: map[string]string{"StaticPolicy": "true"}, want: propagation.Features{Static: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got, unknown := propagation.FeaturesFrom(tc.data)
			if diff := cmp.Diff(tc.want, got) + cmp.Diff(tc.unknown, unknown); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestZ12WithoutTheirConfigMapGatesHoldBack(t *testing.T) {
	f, unknown := propagation.FeaturesOf(nil)
	want := propagation.Features{Static: true, Budget: propagation.BudgetAll, Missing: true}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
	told := strings.Join(unknown, "\n")
	for _, w := range []string{"sluice-system/config-features is missing", `StaticPolicy is "true"`, `PropagationPolicyPreemption is "false"`, `RemovalBudget is "all"`, "kubectl apply -f config/400-config/features.yaml"} {
		if !strings.Contains(told, w) {
			t.Errorf("it says %q, and not %s", told, w)
		}
	}
	empty := &propagation.Template{Object: map[string]any{}}
	if f, unknown := propagation.FeaturesOf(empty); f != (propagation.Features{}) || len(unknown) > 0 {
		t.Errorf("a ConfigMap without keys: %+v, %v", f, unknown)
	}
}
