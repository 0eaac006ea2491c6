// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// behind is a hub of which a process knows a Work in an older form than it has.
type behind struct {
	*pipelinetest.Hub
	known *propagation.Work
	asked int
}

func (b *behind) Work(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error) {
	if b.known != nil {
		return b.known, nil
	}
	return b.Hub.Work(ctx, key)
}

func (b *behind) WorkNow(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error) {
	b.asked++
	return b.Hub.WorkNow(ctx, key)
}

// What another process brought to the member is not taken back by one that has not
// heard of it yet.
func TestY8AnOlderFormIsNotAppliedAgain(t *testing.T) {
	b := secretBrought(t)
	hash1, whole1 := b.hash, b.whole
	b.keep(propagation.Contents{hash1: whole1})
	b.apply("")
	first := b.hub.LiveWork(b.work)

	b.carry("correct horse")
	b.keep(propagation.Contents{hash1: whole1, b.hash: b.whole})
	b.apply("")
	brought := *b.member.Object(b.key)

	hub := &behind{Hub: b.hub, known: first}
	stage := applier.New(hub, open{}, func(context.Context, string) (applier.Member, error) { return b.member, nil }, func() time.Time { return fixture.Start })
	binding := propagation.BindingOf(b.key)
	e, err := events.New("test", event.New(), events.WorkRendered, events.Data{Template: &b.key, Binding: &binding, Work: &b.work, Cluster: "m1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stage.Handle(t.Context(), e); !outcome.IsConflict(err) {
		t.Errorf("it ends with %v", err)
	}
	if now := b.member.Object(b.key); now.Version != brought.Version {
		t.Errorf("the member's object was written: %v, was %v", now.Version, brought.Version)
	}
	if hub.asked != 1 {
		t.Errorf("the Work was asked for %d times", hub.asked)
	}
	// Once it has heard of it, there is nothing to do.
	hub.known = nil
	if _, err := stage.Handle(t.Context(), e); err != nil || hub.asked != 1 {
		t.Errorf("it asks %d times, and ends with %v", hub.asked, err)
	}
}
