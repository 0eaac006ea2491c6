// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/apis/keys"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// types are all types of the contract, sorted.
func types() []string { return slices.Sorted(maps.Keys(events.Catalog)) }

// sample is the payload of a type: what it always has, and what goes with that.
func sample(eventType string) events.Data {
	all := events.Data{
		Template: &keys.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"},
		Policy:   &keys.PolicyKey{Scope: keys.Namespaced, Namespace: "shop", Name: "nginx"},
		Previous: &keys.PolicyKey{Scope: keys.Cluster, Name: "default"},
		Binding:  &keys.BindingKey{Namespace: "shop", Name: "nginx-deployment"},
		Work:     &keys.WorkKey{Cluster: "member1", Name: "nginx-deployment-6f9c2d1b0a"},
		Cluster:  "member1",
	}
	d := events.Data{Reason: "Sample", Message: "what people read"}
	for _, f := range events.Catalog[eventType].Needs {
		switch f {
		case events.FieldTemplate:
			d.Template, d.TemplateVersion = all.Template, "1001"
		case events.FieldPolicy:
			d.Policy, d.PolicyVersion = all.Policy, "1002"
		case events.FieldPrevious:
			d.Previous = all.Previous
		case events.FieldBinding:
			d.Binding, d.BindingVersion = all.Binding, "1003"
		case events.FieldPlacement:
			d.Placement, d.SnapshotIndex = "crp-1", "4"
		case events.FieldWork:
			d.Work, d.WorkVersion = all.Work, "1004"
		case events.FieldCluster:
			d.Cluster = all.Cluster
		}
	}
	switch eventType {
	case events.BindingActivated:
		d.SchedulerName = "the-teams-own"
	case events.PolicyChanged, events.OverridesChanged:
		d.Continue = "held:Namespaced/shop/nginx\napps/Deployment/shop/nginx"
	}
	return d
}

// cause is an event that a stage handles.
func cause() event.Event {
	e := event.New()
	e.SetID("cause-1")
	e.SetType(events.ResourceUpdated)
	e.SetSource("/test")
	e.SetTime(time.Date(2026, 11, 21, 8, 30, 0, 0, time.UTC))
	e.SetExtension(events.ExtTraceParent, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	return e
}

// made is the event that the type's stage makes of its sample.
func made(t testing.TB, eventType string) event.Event {
	t.Helper()
	e, err := events.New(events.Catalog[eventType].Stage, cause(), eventType, sample(eventType))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func goldenFile(eventType string) string {
	return filepath.Join("testdata", "events", strings.TrimPrefix(eventType, "dev.sluice.")+".json")
}

// indented is an event as JSON, its keys sorted.
func indented(t *testing.T, e event.Event) string {
	t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(tree, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + "\n"
}

// TestEventsAreAsTheyWere compares with the files that say how events look on
// the wire, ids included. Other teams' functions read them: a difference is a
// change of the contract.
func TestEventsAreAsTheyWere(t *testing.T) {
	for _, eventType := range types() {
		t.Run(eventType, func(t *testing.T) {
			got := indented(t, made(t, eventType))
			if *update {
				if err := os.WriteFile(goldenFile(eventType), []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(goldenFile(eventType))
			if err != nil {
				t.Fatalf("%v: go test -update writes it", err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("differs from its golden file (-golden +made):\n%s", diff)
			}
			var e event.Event
			if err := json.Unmarshal(want, &e); err != nil {
				t.Fatal(err)
			}
			d, err := events.Decode(e)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sample(eventType), d); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryGoldenFileIsOfAType(t *testing.T) {
	files, err := filepath.Glob(goldenFile("dev.sluice.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		eventType := "dev.sluice." + strings.TrimSuffix(filepath.Base(f), ".json")
		if _, ok := events.Catalog[eventType]; !ok {
			t.Errorf("%s: there is no type %s", f, eventType)
		}
	}
}

func TestIDTellsWhatTheEventTells(t *testing.T) {
	base := func() (stage string, c event.Event, eventType string, d events.Data) {
		return "gate", cause(), events.BindingActivated, sample(events.BindingActivated)
	}
	id := func(stage string, c event.Event, eventType string, d events.Data) string {
		t.Helper()
		e, err := events.New(stage, c, eventType, d)
		if err != nil {
			t.Fatal(err)
		}
		return e.ID()
	}
	first := id(base())
	if again := id(base()); again != first {
		t.Errorf("the same event has the ids %s and %s", first, again)
	}
	for name, change := range map[string]func(stage *string, c *event.Event, eventType *string, d *events.Data){
		"another stage":   func(s *string, _ *event.Event, _ *string, _ *events.Data) { *s = "scheduler" },
		"another cause":   func(_ *string, c *event.Event, _ *string, _ *events.Data) { c.SetID("cause-2") },
		"another type":    func(_ *string, _ *event.Event, y *string, _ *events.Data) { *y = events.BindingDeferred },
		"another version": func(_ *string, _ *event.Event, _ *string, d *events.Data) { d.BindingVersion = "1999" },
		"another reason":  func(_ *string, _ *event.Event, _ *string, d *events.Data) { d.Reason = "Other" },
	} {
		t.Run(name, func(t *testing.T) {
			stage, c, eventType, d := base()
			change(&stage, &c, &eventType, &d)
			if got := id(stage, c, eventType, d); got == first {
				t.Errorf("has the id %s, too", got)
			}
		})
	}
	t.Run("the same cause at another time", func(t *testing.T) {
		stage, c, eventType, d := base()
		c.SetTime(c.Time().Add(time.Hour))
		c.SetExtension(events.ExtTraceParent, "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-00f067aa0ba902b7-01")
		if got := id(stage, c, eventType, d); got != first {
			t.Errorf("has the id %s, want %s: a redelivery would be another event", got, first)
		}
	})
}

func TestABatchNamesItsFirstError(t *testing.T) {
	b := events.From("", cause()) // no stage, so no valid source
	b.Emit("", sample(events.WorkApplied))
	b.Emit(events.WorkApplied, sample(events.WorkApplied))
	if out, err := b.Events(); err == nil || out != nil {
		t.Errorf("got %d events and the error %v, want none and an error", len(out), err)
	}
}
