// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/pkg/outcome"
)

// resend gives dead letters to the broker once more: what failed for half a
// minute may be well by now. One that the broker will never take is dropped, and
// told of; it holds up no other.
func (m *Missed) resend(ctx context.Context) error {
	letters, err := m.letters.Some(ctx, batch)
	if err != nil {
		return err
	}
	var dropped error
	for chunk := range slices.Chunk(letters, eventsAtOnce) {
		err := m.publish(ctx, chunk)
		if outcome.IsTerminal(err) {
			chunk, err = m.resendEach(ctx, chunk)
			dropped = errors.Join(dropped, err)
		} else if err != nil {
			return errors.Join(dropped, fmt.Errorf("send dead letters once more: %w", err))
		}
		if err := m.letters.Drop(ctx, chunk); err != nil {
			return errors.Join(dropped, err)
		}
	}
	return dropped
}

// resendEach gives letters to the broker one by one: done are those that it took,
// and those that it never will.
func (m *Missed) resendEach(ctx context.Context, letters []event.Event) (done []event.Event, failed error) {
	for i := range letters {
		err := m.publish(ctx, letters[i:i+1])
		if err == nil || outcome.IsTerminal(err) {
			done = append(done, letters[i])
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("dead letter %s of %s about %s: %w", letters[i].ID(), letters[i].Source(), letters[i].Subject(), err))
		}
	}
	return done, failed
}
