// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// What a kind's owner said of it stays in force where it went with the definition of
// ResourceInterpreters: nobody took it back. Nothing is written to any member, not even
// where one is no target any more.
func TestZ11RulesThatNobodyTookBackStayInForce(t *testing.T) {
	key := propagation.TemplateKey{APIVersion: "example.com/v1", Kind: "Widget", Namespace: "shop", Name: "blue"}
	spec := configv1alpha1.ResourceInterpreterSpec{Target: configv1alpha1.Target{APIVersion: key.APIVersion, Kind: key.Kind}}
	spec.Rules.MemberFields = []string{"spec.paused"}
	for sentence, tc := range map[string]struct {
		undefined bool          // the definition is being deleted, or gone
		defined   time.Duration // when it was made, before or after the rules
		stays     bool
	}{
		"somebody deleted them":             {defined: -time.Hour},
		"their definition is being deleted": {undefined: true, stays: true},
		"it was defined anew since":         {defined: time.Hour, stays: true},
		"nobody knows when it was defined":  {},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := templateBound(t, key)
			r.hub.Apply(key, func(map[string]any) {})
			r.hub.PutInterpreter("widgets", spec)
			r.bind("widgets/" + fixture.Start.UTC().Format(time.RFC3339))
			r.render()
			ours := func() string { return r.work("m1").Annotations[propagation.AnnotationMemberFields] }
			if ours() != "spec.paused" {
				t.Fatal("the rules are not in force")
			}
			r.hub.DropInterpreter("widgets")
			if tc.defined != 0 {
				r.hub.Define(hub.InterpreterKind().GroupKind(), fixture.Start.Add(tc.defined))
			}
			r.hub.Ask = func(_ context.Context, q pipelinetest.Request) error {
				if tc.undefined && q.String() == "get definition of ResourceInterpreter" {
					return outcome.ErrNotServed
				}
				return nil
			}
			r.to("m1")
			r.render()
			if (ours() != "") != tc.stays || r.work("m2").Deleting == tc.stays {
				t.Errorf("the member's field: %q; the Work of the cluster that is no target any more goes: %t; want them to stay: %t", ours(), r.work("m2").Deleting, tc.stays)
			}
			c := meta.FindStatusCondition(r.hub.LiveBinding(r.bound.Key).Status.Conditions, rendering.ConditionRendered)
			if told := c != nil && c.Reason == rendering.ReasonRuleFailed && strings.Contains(c.Message, "m1, m2: ResourceInterpreter widgets went with its definition"); told != tc.stays {
				t.Errorf("the binding says %+v", c)
			}
			r.hub.Ask = nil
			r.hub.PutInterpreter("widgets", spec)
			r.render()
			if ours() != "spec.paused" || !r.work("m2").Deleting {
				t.Errorf("the rules were made again; the member's field: %q, the Work of the cluster that is no target goes: %t", ours(), r.work("m2").Deleting)
			}
		})
	}
}

// bind notes in the binding by whose rules it is bound.
func (r *scene) bind(interpreter string) {
	r.t.Helper()
	next := *r.bound
	next.Annotations = maps.Clone(r.bound.Annotations)
	next.Annotations[propagation.AnnotationInterpreter] = interpreter
	var err error
	if r.bound, err = r.hub.CommitBinding(r.t.Context(), r.bound, &next); err != nil {
		r.t.Fatal(err)
	}
}
