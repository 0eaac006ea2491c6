// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	"sigs.k8s.io/yaml"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/localbroker"
)

func trigger(t *testing.T, file string) (tr eventingv1.Trigger) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err == nil {
		err = yaml.UnmarshalStrict(raw, &tr)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return tr
}

const sluiceTriggers = "../../../config/600-eventing"

// rerouted is Sluice's own Trigger with the team's patch.
func rerouted(t *testing.T) (tr eventingv1.Trigger) {
	t.Helper()
	read := func(file string) []byte {
		raw, err := os.ReadFile(file)
		if err == nil {
			raw, err = yaml.YAMLToJSON(raw)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		return raw
	}
	patch, err := jsonpatch.DecodePatch(read("reroute/patch.json"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := patch.Apply(read(sluiceTriggers + "/trigger-gate.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(raw, &tr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestTheWindowTakesWhatTheGateTakes fails when Sluice's gate takes another type:
// then the window has to follow.
func TestTheWindowTakesWhatTheGateTakes(t *testing.T) {
	own := trigger(t, sluiceTriggers+"/trigger-gate.yaml").Spec.Filters
	if diff := cmp.Diff(own, trigger(t, "trigger.yaml").Spec.Filters[:len(own)]); diff != "" {
		t.Errorf("(-gate +window):\n%s", diff)
	}
}

// TestNoOtherRoadLeadsToTheGate is what the window stands or falls with.
func TestNoOtherRoadLeadsToTheGate(t *testing.T) {
	files, err := filepath.Glob(sluiceTriggers + "/trigger-*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no Triggers: %v", err)
	}
	for _, f := range files {
		if tr := trigger(t, f); tr.Spec.Subscriber.Ref.Name == "gate" && tr.Name != "gate" {
			t.Errorf("%s leads to the gate, too", f)
		}
	}
}

// spy is a subscriber that remembers who was asked.
type spy struct {
	name string
	mu   *sync.Mutex
	seen *[]string
}

func (s spy) Name() string { return s.name }

func (s spy) Handle(context.Context, event.Event) ([]event.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.seen = append(*s.seen, s.name)
	return nil, nil
}

func TestEachEventHasOneRoad(t *testing.T) {
	tests := map[string]struct {
		typ, namespace, stamp string
		want                  []string
	}{
		"a claim of the team goes to the window":        {events.TemplateClaimed, "shop", "", []string{"changewindow"}},
		"a release of the team goes to the window":      {events.TemplateReleased, "shop", "", []string{"changewindow"}},
		"a preemption of the team goes to the window":   {events.ClaimPreempted, "shop", "", []string{"changewindow"}},
		"what waits for a policy goes to the window":    {events.TemplateWaiting, "shop", "", []string{"changewindow"}},
		"what was let through goes to the gate":         {events.TemplateClaimed, "shop", "WindowOpen", []string{"gate"}},
		"a deletion that was let through, too":          {events.TemplateReleased, "shop", "Deleted", []string{"gate"}},
		"another team's goes to the gate":               {events.TemplateClaimed, "bank", "", []string{"gate"}},
		"what has no namespace goes to the gate":        {events.TemplateClaimed, "", "", []string{"gate"}},
		"what is no affair of the gate goes to neither": {events.BindingActivated, "shop", "", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var seen []string
			b := localbroker.New(localbroker.Options{})
			for _, s := range []string{"gate", "changewindow"} {
				b.Register(spy{s, &mu, &seen})
			}
			for _, tr := range []eventingv1.Trigger{trigger(t, "trigger.yaml"), rerouted(t)} {
				if err := b.AddTrigger(tr); err != nil {
					t.Fatal(err)
				}
			}
			ctx := function.WithLogger(t.Context(), slog.New(slog.DiscardHandler))
			go func() { _ = b.Run(ctx) }()
			e := told(t, "1", tc.typ)
			if tc.typ == events.BindingActivated {
				d := events.Data{Template: &nginx, Binding: &propagation.BindingKey{Namespace: "shop", Name: "b"}}
				var err error
				if e, err = events.New("gate", e, tc.typ, d); err != nil {
					t.Fatal(err)
				}
			}
			e.SetExtension(events.ExtNamespace, nil)
			if tc.namespace != "" {
				e.SetExtension(events.ExtNamespace, tc.namespace)
			}
			if tc.stamp != "" {
				e.SetExtension(Extension, tc.stamp)
			}
			if err := b.Publish(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if err := b.Idle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(seen, tc.want) {
				t.Errorf("went to %v, want %v", seen, tc.want)
			}
		})
	}
}
