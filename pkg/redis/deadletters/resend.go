// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package deadletters

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/pkg/outcome"
)

const (
	// atOnce is how many letters one Resend sends at most; the next one continues.
	atOnce = 200
	// together is how many letters are published at once.
	together = 50
)

// Kept are the letters that are kept.
type Kept interface {
	Some(ctx context.Context, n int) ([]event.Event, error)
	Drop(ctx context.Context, letters []event.Event) error
}

// Publish returns nil once the broker has accepted every event.
type Publish func(ctx context.Context, out []event.Event) error

// Resender sends dead letters once more.
type Resender struct {
	letters Kept
	publish Publish
}

// NewResender makes it.
func NewResender(l Kept, p Publish) *Resender { return &Resender{letters: l, publish: p} }

// Resend gives some dead letters to the broker once more: what failed for half a minute
// may be well by now. One that the broker will never take is dropped, and logged; it
// holds up no other.
func (r *Resender) Resend(ctx context.Context) error {
	letters, err := r.letters.Some(ctx, atOnce)
	if err != nil {
		return err
	}
	var dropped error
	for chunk := range slices.Chunk(letters, together) {
		err := r.publish(ctx, chunk)
		if outcome.IsTerminal(err) {
			chunk, err = r.each(ctx, chunk)
			dropped = errors.Join(dropped, err)
		} else if err != nil {
			return errors.Join(dropped, fmt.Errorf("send dead letters once more: %w", err))
		}
		if err := r.letters.Drop(ctx, chunk); err != nil {
			return errors.Join(dropped, err)
		}
	}
	return dropped
}

// each gives letters to the broker one by one: done are those that it took,
// and those that it never will.
func (r *Resender) each(ctx context.Context, letters []event.Event) (done []event.Event, failed error) {
	for i := range letters {
		err := r.publish(ctx, letters[i:i+1])
		if err == nil || outcome.IsTerminal(err) {
			done = append(done, letters[i])
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("dead letter %s of %s about %s: %w", letters[i].ID(), letters[i].Source(), letters[i].Subject(), err))
		}
	}
	return done, failed
}
