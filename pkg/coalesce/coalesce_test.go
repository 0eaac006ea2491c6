// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package coalesce_test

import (
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/apis/keys"
	"sluice.dev/pkg/coalesce"
)

// raw is an event of that type with those data.
func raw(eventType, data string) event.Event {
	e := event.New()
	e.SetID("1")
	e.SetSource("/test")
	e.SetType(eventType)
	e.DataEncoded = []byte(data)
	e.SetDataContentType("application/json")
	return e
}

// tell is an event about a Deployment of that name.
func tell(t *testing.T, eventType, name string, change ...func(*events.Data)) event.Event {
	t.Helper()
	key := keys.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name}
	binding := keys.BindingOf(key)
	d := events.Data{Template: &key, Binding: &binding}
	for _, c := range change {
		c(&d)
	}
	e, err := events.New("test", raw(events.ResourceUpdated, ""), eventType, d)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func inCluster(name string) func(*events.Data) {
	return func(d *events.Data) { d.Cluster = name }
}

func TestWhatTellsTheSame(t *testing.T) {
	claimed := func(change ...func(*events.Data)) event.Event {
		return tell(t, events.TemplateClaimed, "nginx", append(change, func(d *events.Data) {
			d.Policy = &keys.PolicyKey{Scope: keys.Namespaced, Namespace: "shop", Name: "p"}
		})...)
	}
	resource := func(eventType, version, cluster string) event.Event {
		e, err := events.NewResource("hub", eventType, events.Object{
			TemplateKey: keys.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "c"},
			Version:     version, Cluster: cluster,
		})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	ping := func(id string) event.Event {
		e := event.New()
		e.SetType(events.Ping)
		e.SetSource("/pings/" + id)
		e.SetID(id)
		return e
	}
	typed := func(e event.Event, eventType string) event.Event { e.SetType(eventType); return e }
	extended := func(e event.Event, name, value string) event.Event { e.SetExtension(name, value); return e }
	foreign := typed(claimed(), "com.example.order")
	another := foreign.Clone()
	another.SetID("another")

	tests := map[string]struct {
		a, b event.Event
		want bool
	}{
		"two of one type about one template":        {claimed(), claimed(), true},
		"another version was seen":                  {claimed(), claimed(func(d *events.Data) { d.TemplateVersion = "7" }), true},
		"another reason":                            {claimed(), claimed(func(d *events.Data) { d.Reason, d.Message = "Lazy", "waits" }), true},
		"another trace":                             {claimed(), extended(claimed(), events.ExtTraceParent, "00-1-2-01"), true},
		"at another time through the broker":        {extended(claimed(), "knativearrivaltime", "2026-11-22T12:00:00Z"), extended(claimed(), "knativearrivaltime", "2026-11-22T12:00:01Z"), true},
		"another type":                              {claimed(), typed(claimed(), events.TemplateReleased), false},
		"another template":                          {claimed(), tell(t, events.TemplateClaimed, "other"), false},
		"another policy":                            {claimed(), tell(t, events.TemplateClaimed, "nginx"), false},
		"another cluster":                           {claimed(inCluster("m1")), claimed(inCluster("m2")), false},
		"another page of a fan-out":                 {claimed(func(d *events.Data) { d.Continue = "a" }), claimed(func(d *events.Data) { d.Continue = "b" }), false},
		"another scheduler":                         {claimed(), extended(claimed(), events.ExtSchedulerName, "team"), false},
		"two versions of a resource":                {resource(events.ResourceUpdated, "1", ""), resource(events.ResourceUpdated, "2", ""), true},
		"an update and a deletion":                  {resource(events.ResourceUpdated, "1", ""), resource(events.ResourceDeleted, "2", ""), false},
		"a resource of the hub and one of a member": {resource(events.ResourceUpdated, "1", ""), resource(events.ResourceUpdated, "1", "m1"), false},
		"two ticks":                                 {ping("1"), ping("2"), true},
		"two foreign events":                        {foreign, another, false},
		"a foreign event twice":                     {foreign, foreign.Clone(), true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a, b := coalesce.Tells(tc.a), coalesce.Tells(tc.b)
			if got := a == b; got != tc.want {
				t.Errorf("same: got %v, want %v\n%q\n%q", got, tc.want, a, b)
			}
		})
	}
}

func TestLaneOfAnEvent(t *testing.T) {
	bare := event.New()
	bare.SetType("com.example.order")
	other := bare.Clone()
	other.SetID("2")
	// As Knative's adapter tells it, which knows of no partitions.
	adapter := raw(events.ResourceUpdated, `{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"nginx"}`)
	member := adapter.Clone()
	member.SetExtension(events.ExtCluster, "member1")
	elsewhere := raw(events.ResourceUpdated, `{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"other"}`)
	nobody := raw(events.ResourceUpdated, `{}`)
	tests := map[string]struct {
		a, b  event.Event
		apart bool
	}{
		"its partition key, whatever the type":         {a: tell(t, events.TemplateClaimed, "nginx"), b: tell(t, events.BindingActivated, "nginx")},
		"that of the template, where an adapter tells": {a: adapter, b: tell(t, events.TemplateClaimed, "nginx")},
		"and of its object in a member":                {a: member, b: adapter},
		"another template's is another":                {a: adapter, b: elsewhere, apart: true},
		"one that names no object":                     {a: nobody, b: nobody},
		"one of its own without":                       {a: bare, b: bare},
		"and another's is another":                     {a: bare, b: other, apart: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if a, b := coalesce.Lane(tc.a), coalesce.Lane(tc.b); (a == b) == tc.apart || a == "" {
				t.Errorf("lanes %q and %q, apart: want %t", a, b, tc.apart)
			}
		})
	}
}

func TestEventsAboutTheSameWorksTellTheSame(t *testing.T) {
	emit := func(version string, clusters ...string) event.Event {
		template := keys.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}
		binding := keys.BindingOf(template)
		b := events.From("test", raw(events.ResourceUpdated, ""))
		for _, c := range clusters {
			b.EmitWork(events.WorkRendered, events.Data{
				Template: &template, Binding: &binding, Work: &keys.WorkKey{Cluster: c, Name: keys.WorkName(binding)}, WorkVersion: version, Cluster: c,
			})
		}
		out, err := b.Events()
		if err != nil || len(out) != 1 {
			t.Fatalf("emitted %d events, %v; want one", len(out), err)
		}
		return out[0]
	}
	first, newer, others := emit("1", "a", "b"), emit("2", "a", "b"), emit("1", "a", "c")
	if coalesce.Tells(first) != coalesce.Tells(newer) || coalesce.Names(first) != coalesce.Names(newer) {
		t.Error("the same Works of another version tell something else")
	}
	if coalesce.Tells(first) == coalesce.Tells(others) || coalesce.Names(first) == coalesce.Names(others) {
		t.Error("Works of other members tell the same")
	}
}
