// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	"sluice.dev/pkg/core/kinds/rules"
)

func TestWhoseRulesAct(t *testing.T) {
	day := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	make := func(name string, age int, kind, health string) *rules.Interpreter {
		o := &configv1alpha1.ResourceInterpreter{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 3, CreationTimestamp: metav1.NewTime(day.AddDate(0, 0, -age))}}
		o.Spec.Target = configv1alpha1.Target{APIVersion: "example.com/v1", Kind: kind}
		o.Spec.Rules.Health = &configv1alpha1.Rule{Expression: health}
		return rules.Of(o)
	}
	leaving := make("leaving", 9, "Widget", "true")
	leaving.Deleting = true
	for name, tc := range map[string]struct {
		all        []*rules.Interpreter
		want, says string // the condition of the first
	}{
		"one alone":                           {[]*rules.Interpreter{make("a", 0, "Widget", "true")}, "Accepted", "the rules act on Widget"},
		"beside one of another kind":          {[]*rules.Interpreter{make("b", 0, "Widget", "true"), make("a", 1, "Gadget", "true")}, "Accepted", "the rules act on Widget"},
		"a younger one":                       {[]*rules.Interpreter{make("a", 0, "Widget", "true"), make("b", 1, "Widget", "true")}, "Conflict", "b, which is older, has rules for Widget: put these there, or delete it"},
		"the older one":                       {[]*rules.Interpreter{make("b", 1, "Widget", "true"), make("a", 0, "Widget", "true")}, "Accepted", "the rules act on Widget"},
		"of one age the first by name":        {[]*rules.Interpreter{make("a", 0, "Widget", "true"), make("b", 0, "Widget", "true")}, "Accepted", "the rules act on Widget"},
		"beside one that is being deleted":    {[]*rules.Interpreter{make("a", 0, "Widget", "true"), leaving}, "Accepted", "the rules act on Widget"},
		"one that is wrong":                   {[]*rules.Interpreter{make("a", 0, "Widget", "1")}, "InvalidRules", "spec.rules.health.expression: says a int: want bool or string"},
		"a wrong older one acts all the same": {[]*rules.Interpreter{make("a", 0, "Widget", "true"), make("b", 1, "Widget", "1")}, "Conflict", "b, which is older, has rules for Widget: put these there, or delete it"},
		"one for no kind is in nobody's way":  {[]*rules.Interpreter{make("a", 0, "Widget", "true"), make("b", 1, "", "true")}, "Accepted", "the rules act on Widget"},
	} {
		c := rules.Accepted(tc.all[0], tc.all)
		want := metav1.Condition{Type: "Accepted", Status: metav1.ConditionFalse, Reason: tc.want, Message: tc.says, ObservedGeneration: 3}
		if tc.want == "Accepted" {
			want.Status = metav1.ConditionTrue
		}
		if d := cmp.Diff(want, c); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
}
