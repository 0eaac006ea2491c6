// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest"
)

// What a watch told of an object is enough to remove it, in that version alone: whatever
// else there is in the member is read before it is decided.
func TestZ1WhatAWatchToldIsRemovedAsItWasTold(t *testing.T) {
	down := errors.New("down")
	for name, tc := range map[string]struct {
		since func(b *bringing)
		asks  []string // of the member
		stays bool
	}{
		"it is as it was told":   {asks: []string{"delete"}},
		"somebody changed it":    {since: func(b *bringing) { b.member.Spoil(b.key) }, asks: []string{"delete", "get", "delete"}},
		"it is another's by now": {since: func(b *bringing) { b.member.Strip(b.key) }, asks: []string{"delete", "get"}, stays: true},
		"it is gone":             {since: func(b *bringing) { b.member.Lose(b.key) }, asks: []string{"delete"}},
		"another has its name": {since: func(b *bringing) {
			b.member.Lose(b.key)
			b.member.Plant(b.key, map[string]any{"metadata": map[string]any{}})
		}, asks: []string{"delete", "get"}, stays: true},
		"the member cannot be reached, nor asked again": {since: func(b *bringing) { b.member.Ask = func(context.Context, pipelinetest.Request) error { return down } }, asks: []string{"delete"}, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := secretBrought(t)
			b.keep(propagation.Contents{b.hash: b.whole})
			b.hub.Join("m1")
			held := *b.hub.LiveWork(b.work)
			held.Finalizers = []string{propagation.FinalizerWork}
			if _, err := b.hub.CommitWork(t.Context(), b.hub.LiveWork(b.work), &held); err != nil {
				t.Fatal(err)
			}
			b.apply("")
			if tc.since != nil {
				tc.since(b)
			}
			if err := b.hub.DeleteWork(t.Context(), b.hub.LiveWork(b.work)); err != nil {
				t.Fatal(err)
			}
			var asks []string
			answer := b.member.Ask
			b.member.Ask = func(ctx context.Context, r pipelinetest.Request) error {
				asks = append(asks, r.Verb)
				if answer != nil {
					return answer(ctx, r)
				}
				return nil
			}
			binding := propagation.BindingOf(b.key)
			e, err := events.New("renderer", event.New(), events.WorkRemoved, events.Data{Template: &b.key, Binding: &binding, Work: &b.work, Cluster: "m1"})
			if err != nil {
				t.Fatal(err)
			}
			if out, err := b.stage.Handle(t.Context(), e); err != nil || len(out) != 1 {
				t.Fatal(out, err)
			}
			if !slices.Equal(asks, tc.asks) {
				t.Errorf("the member was asked %v, want %v", asks, tc.asks)
			}
			if stays := b.member.Object(b.key) != nil; stays != tc.stays {
				t.Errorf("it stays: %t, want %t", stays, tc.stays)
			}
		})
	}
}
