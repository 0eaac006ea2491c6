// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package coalesce says which deliveries of events are one piece of work: which
// events tell the same, so that one handling does for all of them, and which are
// handled one after the other.
//
// Invariants:
//   - All that Sluice tells about one template has one lane.
//   - Versions, reasons and messages tell nothing: the handler of an event reads
//     the live state.
//   - An event of a type that is not in the contract tells the same as itself
//     alone.
//
// It must not handle, keep or send events.
package coalesce

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
)

// aside are the extensions that do not say what an event tells, but why, and which
// way it has come; the broker of Knative has two of its own.
var aside = map[string]bool{events.ExtReason: true, events.ExtTraceParent: true, events.ExtBulk: true, "knativearrivaltime": true, "knativebrokerttl": true}

// Tells is equal for events that tell the same. For the types of the event
// contract that is: the same type, subject, page of a fan-out and extensions, but
// for the reason and those of the way here; versions and messages in the data do not
// count, because whoever gets the event reads the live state. An event of any other
// type tells something of its own: source and id tell it.
func Tells(e event.Event) string {
	var b strings.Builder
	part := func(s string) { b.WriteString(s); b.WriteByte(0) }
	part(e.Type())
	if !isHint(e.Type()) {
		part(e.Source())
		part(e.ID())
		return b.String()
	}
	part(e.Subject())
	part(page(e))
	x := e.Extensions()
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if !aside[name] {
			part(name)
			part(fmt.Sprint(x[name]))
		}
	}
	return b.String()
}

// Names is equal for events whose data name the same objects, whatever versions,
// reasons and messages are with them. Data that cannot be read names what it is.
func Names(e event.Event) string {
	whole := func() string { return string(e.Data()) }
	if isResource(e.Type()) {
		var ref struct{ APIVersion, Kind, Namespace, Name string }
		if len(e.Data()) > 0 && json.Unmarshal(e.Data(), &ref) != nil {
			return whole()
		}
		return strings.Join([]string{ref.APIVersion, ref.Kind, ref.Namespace, ref.Name}, "\x00")
	}
	d, err := events.Decode(e)
	if err != nil {
		return whole()
	}
	named, err := json.Marshal(events.Data{
		Template: d.Template, Policy: d.Policy, Previous: d.Previous, Binding: d.Binding, Placement: d.Placement, Work: d.Work,
		SchedulerName: d.SchedulerName, Applier: d.Applier, Cluster: d.Cluster, Continue: d.Continue, Works: unversioned(d.Works),
	})
	if err != nil {
		return whole()
	}
	return string(named)
}

// unversioned are the Works without the versions; nil for nil.
func unversioned(w *events.Works) *events.Works {
	if w == nil {
		return nil
	}
	bare := &events.Works{Name: w.Name, Form: w.Form, Versions: map[string]string{}}
	for cluster := range w.Versions {
		bare.Versions[cluster] = ""
	}
	return bare
}

// Lane is what an event should be handled one after the other with: those with its
// partition key, which for a source's event is that of the template that its object
// is, or comes of; without one it is alone with those that tell the same.
func Lane(e event.Event) string {
	if key, _ := e.Extensions()[events.ExtPartitionKey].(string); key != "" {
		return key
	}
	if isResource(e.Type()) {
		if o, err := events.DecodeResource(e); err == nil {
			return events.PartitionKey(o.TemplateKey)
		}
	}
	return Tells(e)
}

type coveredKey struct{}

// Covering says which events are handled with one: they tell the same, and are
// taken for handled where it is. Ids are those that their source gave them.
func Covering(ctx context.Context, ids []string) context.Context {
	return context.WithValue(ctx, coveredKey{}, ids)
}

// Covers tells whether the event with that id is among them. Whoever remembers what
// an event led to has to ask: what comes again may not have been heard of.
func Covers(ctx context.Context, id string) bool {
	ids, _ := ctx.Value(coveredKey{}).([]string)
	return slices.Contains(ids, id)
}

// isHint tells whether the type belongs to the event contract.
func isHint(eventType string) bool {
	_, ours := events.Catalog[eventType]
	return ours || eventType == events.Ping || isResource(eventType)
}

func isResource(eventType string) bool {
	return eventType == events.ResourceAdded || eventType == events.ResourceUpdated || eventType == events.ResourceDeleted
}

// page is where the fan-out goes on that the event tells of; empty for most.
func page(e event.Event) string {
	var d struct {
		Continue string `json:"continue"`
	}
	if bytes.Contains(e.Data(), []byte(`"continue"`)) {
		_ = json.Unmarshal(e.Data(), &d) // the stage says what is wrong with it
	}
	return d.Continue
}
