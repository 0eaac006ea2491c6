// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package interpreters_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	events "sluice.dev/apis/events/v1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/sweeper/interpreters"
	"sluice.dev/pkg/pipeline/sweeper/tick"
	"sluice.dev/test/pipelinetest"
)

func binding(kind, name string) *propagation.Binding {
	return &propagation.Binding{
		Key:  propagation.BindingKey{Namespace: "shop", Name: name},
		Spec: workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{APIVersion: "example.com/v1", Kind: kind, Namespace: "shop", Name: name}},
	}
}

func spec(health string) configv1alpha1.ResourceInterpreterSpec {
	return configv1alpha1.ResourceInterpreterSpec{
		Target: configv1alpha1.Target{APIVersion: "example.com/v1", Kind: "Widget"},
		Rules:  configv1alpha1.Rules{Health: &configv1alpha1.Rule{Expression: health}},
	}
}

// world is a hub and the positions that sweeps leave.
type world struct {
	hub       *pipelinetest.Hub
	positions map[string]string
}

func newWorld() *world {
	w := &world{hub: pipelinetest.NewHub(pipelinetest.Options{Now: time.Now}), positions: map[string]string{}}
	return w
}

// sweep is how many templates one sweep announces.
func (w *world) sweep(t *testing.T, bindings []*propagation.Binding) int {
	t.Helper()
	cause := event.New()
	cause.SetID("1")
	cause.SetType(events.Ping)
	cause.SetSource("test")
	now := tick.New(cause, w.positions, time.Now())
	if err := interpreters.New(w.hub, time.Now).Sweep(t.Context(), now, func() ([]*propagation.Binding, error) { return bindings, nil }); err != nil {
		t.Fatal(err)
	}
	w.positions = map[string]string{"rules": now.Text("rules")}
	out, err := now.Out.Events()
	if err != nil {
		t.Fatal(err)
	}
	touched := 0
	for _, e := range out {
		if e.Type() == events.TemplateTouched {
			touched++
		}
	}
	if len(out) != 2*touched {
		t.Errorf("%d events of %d templates", len(out), touched)
	}
	return touched
}

func (w *world) accepted(t *testing.T, name string) metav1.Condition {
	t.Helper()
	all, err := w.hub.Interpreters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Name == name && len(i.Status.Conditions) == 1 && i.Status.ObservedGeneration == i.Generation {
			return i.Status.Conditions[0]
		}
	}
	t.Fatalf("%s says nothing of itself", name)
	return metav1.Condition{}
}

func TestWhatWasPropagatedFollowsTheRules(t *testing.T) {
	w := newWorld()
	all := []*propagation.Binding{binding("Gadget", "a"), binding("Widget", "b"), binding("Widget", "c")}
	for _, step := range []struct {
		name string
		do   func()
		want int
	}{
		{"no rules", func() {}, 0},
		{"rules appear", func() { w.hub.PutInterpreter("widgets", spec("true")) }, 2},
		{"nothing changes", func() {}, 0},
		{"rules change", func() { w.hub.PutInterpreter("widgets", spec("false")) }, 2},
		{"rules break", func() { w.hub.PutInterpreter("widgets", spec("oops(")) }, 2},
		{"rules go", func() { w.hub.DropInterpreter("widgets") }, 2},
		{"nothing changes any more", func() {}, 0},
	} {
		step.do()
		if got := w.sweep(t, all); got != step.want {
			t.Errorf("%s: %d templates announced, want %d", step.name, got, step.want)
		}
	}
}

func TestMoreThanOneSweepAnnounces(t *testing.T) {
	w := newWorld()
	var all []*propagation.Binding
	for i := range tick.Batch + 30 {
		all = append(all, binding("Widget", fmt.Sprintf("w%03d", i)))
	}
	w.hub.PutInterpreter("widgets", spec("true"))
	for i, want := range []int{tick.Batch, 30, 0} {
		if got := w.sweep(t, all); got != want {
			t.Errorf("sweep %d announced %d templates, want %d", i, got, want)
		}
	}
}

func TestTheObjectSaysWhetherItsRulesAct(t *testing.T) {
	w := newWorld()
	w.hub.PutInterpreter("a", spec("true"))
	w.hub.PutInterpreter("b", spec("true"))
	w.sweep(t, nil)
	if c := w.accepted(t, "a"); c.Status != metav1.ConditionTrue {
		t.Errorf("the first: %v", c)
	}
	if c := w.accepted(t, "b"); c.Status != metav1.ConditionFalse || c.Reason != configv1alpha1.ReasonConflict {
		t.Errorf("the second: %v", c)
	}
	w.hub.PutInterpreter("a", spec("1"))
	w.sweep(t, nil)
	if c := w.accepted(t, "a"); c.Reason != configv1alpha1.ReasonInvalidRules || c.Message != "spec.rules.health.expression: says a int: want bool or string" {
		t.Errorf("one that is wrong: %v", c)
	}
	before, err := w.hub.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.sweep(t, nil)
	if after, err := w.hub.Version(t.Context()); err != nil || after != before {
		t.Errorf("a sweep that finds nothing new writes: %d, then %d, %v", before, after, err)
	}
}
