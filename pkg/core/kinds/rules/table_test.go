// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/kinds/rules"
	"sluice.dev/pkg/core/propagation"
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

// What a kind's owner said, and nobody took back, is unknown where it went with its
// definition: everything that depends on it fails. Where somebody took it back, it is as if
// it had never been said.
func TestZ11RulesThatWentWithTheirDefinition(t *testing.T) {
	made := time.Date(2026, 11, 30, 7, 3, 36, 0, time.UTC)
	spec := configv1alpha1.ResourceInterpreterSpec{Target: configv1alpha1.Target{APIVersion: "example.com/v1", Kind: "Widget"}}
	spec.Rules.Replicas = &configv1alpha1.ReplicasRule{Path: "spec.size"}
	of := func(name string, change func(o *configv1alpha1.ResourceInterpreter)) *rules.Interpreter {
		o := &configv1alpha1.ResourceInterpreter{Spec: spec}
		o.Name, o.UID, o.CreationTimestamp = name, types.UID(name), metav1.NewTime(made)
		change(o)
		return rules.Of(o)
	}
	same := func(*configv1alpha1.ResourceInterpreter) {}
	there := of("widgets", same)
	b := &propagation.Binding{Annotations: map[string]string{}}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "example.com/v2", Kind: "Widget", Namespace: "shop", Name: "blue"}
	gk := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	const by = "widgets/2026-11-30T07:03:36Z"
	failed := errors.New("nobody answers")
	for sentence, tc := range map[string]struct {
		by        string
		all       []*rules.Interpreter
		went      bool
		fails     error
		asked     bool
		undefined bool
		want      string // whose rules act
	}{
		"it is there":                            {by: by, all: []*rules.Interpreter{there}, went: true, want: by},
		"it went":                                {by: by, went: true, asked: true, undefined: true, want: by},
		"somebody deleted it":                    {by: by, asked: true},
		"somebody deletes it, and it waits":      {by: by, all: []*rules.Interpreter{of("widgets", func(o *configv1alpha1.ResourceInterpreter) { o.DeletionTimestamp = &o.CreationTimestamp })}, asked: true},
		"it went, and another one is left":       {by: by, all: []*rules.Interpreter{of("others", same)}, went: true, asked: true, undefined: true, want: by},
		"somebody deleted it, another one acts":  {by: by, all: []*rules.Interpreter{of("others", same)}, asked: true, want: "others/2026-11-30T07:03:36Z"},
		"it was made anew":                       {by: by, all: []*rules.Interpreter{of("widgets", func(o *configv1alpha1.ResourceInterpreter) { o.CreationTimestamp.Time = made.Add(time.Hour) })}, went: true, want: "widgets/2026-11-30T08:03:36Z"},
		"nobody can tell what became of it":      {by: by, fails: failed, asked: true},
		"the binding records none":               {went: true},
		"somebody edited what it records":        {by: "widgets", went: true},
		"the binding was made before there were": {all: []*rules.Interpreter{there}, went: true, want: by},
	} {
		t.Run(sentence, func(t *testing.T) {
			asked := false
			if b.Annotations[propagation.AnnotationInterpreter] = tc.by; tc.by == "" {
				delete(b.Annotations, propagation.AnnotationInterpreter)
			}
			table, err := rules.Known(tc.all, b, func(at time.Time) (bool, error) {
				if asked = true; !at.Equal(made) {
					t.Errorf("it asks for one made at %v", at)
				}
				return tc.went, tc.fails
			})
			if !errors.Is(err, tc.fails) || asked != tc.asked {
				t.Fatalf("it says %v, and asked for the definition: %t, want %t", err, asked, tc.asked)
			}
			k := table.Named(gk)
			if k.By() != tc.want || (k.Undefined() != nil) != tc.undefined {
				t.Errorf("by %q, want %q; unknown: %v", k.By(), tc.want, k.Undefined())
			}
			if _, err := k.Replicas(object(t, "{apiVersion: example.com/v1, kind: Widget, spec: {size: 2}}")); (err != nil) != tc.undefined {
				t.Errorf("it counts with %v", err)
			}
			if tc.undefined && !strings.Contains(k.Undefined().Error(), "ResourceInterpreter widgets went with its definition") {
				t.Errorf("it says %v", k.Undefined())
			}
		})
	}
}
