// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/replay"
)

// What an API server tells is none of Sluice's own, or the detector would take a change
// by somebody for one that a sweep has found.
func TestWhatAnAPIServerTells(t *testing.T) {
	settings := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	for what, tc := range map[string]struct {
		eventType, cluster string
		single             bool
	}{
		"somebody made an object on the hub": {events.ResourceAdded, "", true},
		"an object on the hub changed":       {events.ResourceUpdated, "", false},
		"an object came to a member":         {events.ResourceAdded, "m1", false},
	} {
		e, err := told(tc.eventType, events.Object{TemplateKey: settings, Version: "1", Cluster: tc.cluster})
		if err != nil {
			t.Fatal(err)
		}
		if events.Own(e) || events.Bulk(e) || events.Single(e) != tc.single {
			t.Errorf("%s: own %t, in bulk %t, single %t; want none of the first two, and %t", what, events.Own(e), events.Bulk(e), events.Single(e), tc.single)
		}
	}
}

// known are templates that Redis knows, a page each, and those that the hub has.
type known struct {
	replay.Index
	pages    []propagation.TemplateKey
	notBuilt bool
	has      map[string]error
}

func (k known) Templates(_ context.Context, _ schema.GroupKind, cursor string, _ int) ([]propagation.TemplateKey, string, error) {
	switch i := len(cursor); {
	case k.notBuilt:
		return nil, "", outcome.ErrNotBuilt
	case i == len(k.pages):
		return nil, "", nil
	default:
		return k.pages[i : i+1], cursor + "x", nil
	}
}

func (k known) Template(_ context.Context, key propagation.TemplateKey) (*propagation.Template, error) {
	return &propagation.Template{Key: key}, k.has[key.Name]
}

func TestWhatVanishedWhileItsKindWasNotServedIsTold(t *testing.T) {
	key := func(name string) propagation.TemplateKey {
		return propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}
	}
	all := []propagation.TemplateKey{key("a"), key("b"), key("c")}
	for name, tc := range map[string]struct {
		known known
		want  []propagation.TemplateKey
		fails error
	}{
		"all are there":         {known: known{pages: all}},
		"two are not":           {known: known{pages: all, has: map[string]error{"a": outcome.ErrGone, "c": outcome.ErrGone}}, want: []propagation.TemplateKey{key("a"), key("c")}},
		"nobody can tell again": {known: known{pages: all, has: map[string]error{"b": outcome.ErrNotServed}}, fails: outcome.ErrNotServed},
		"Redis is being built":  {known: known{pages: all, notBuilt: true}},
		"nothing is known":      {},
	} {
		t.Run(name, func(t *testing.T) {
			var told []propagation.TemplateKey
			err := vanished(t.Context(), tc.known, tc.known, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, func(k propagation.TemplateKey) { told = append(told, k) })
			if !errors.Is(err, tc.fails) || !slices.Equal(told, tc.want) {
				t.Errorf("told of %v, %v; want %v, %v", told, err, tc.want, tc.fails)
			}
		})
	}
}
