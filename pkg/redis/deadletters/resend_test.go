// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package deadletters_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/deadletters"
)

// kept are dead letters.
type kept []event.Event

var errDown = errors.New("the broker is down")

func (k *kept) Some(_ context.Context, n int) ([]event.Event, error) {
	return slices.Clone((*k)[:min(n, len(*k))]), nil
}

func (k *kept) Drop(_ context.Context, letters []event.Event) error {
	*k = slices.DeleteFunc(*k, func(e event.Event) bool {
		return slices.ContainsFunc(letters, func(l event.Event) bool { return l.ID() == e.ID() })
	})
	return nil
}

func TestDeadLettersAreSentOnceMore(t *testing.T) {
	errNever := outcome.Terminal(errors.New("the broker answered 400"))
	for name, tc := range map[string]struct {
		letters   int
		brokenAt  int   // which call of the broker fails; 0: none
		never     []int // letters that the broker will never take
		sent      int
		stillKept int
	}{
		"none":                            {},
		"all of a few":                    {letters: 70, sent: 70},
		"of many, as many as a sweep may": {letters: 250, sent: 200, stillKept: 50},
		"what the broker took goes":       {letters: 70, brokenAt: 2, sent: 50, stillKept: 20},
		"nothing where it took nothing":   {letters: 70, brokenAt: 1, stillKept: 70},
		"Z35: those that can never be sent go, and hold up no other": {letters: 120, never: []int{0, 7, 60}, sent: 117},
	} {
		t.Run(name, func(t *testing.T) {
			letters := make(kept, tc.letters)
			for i := range letters {
				letters[i] = event.New()
				letters[i].SetID(fmt.Sprint(i))
			}
			sent, calls := map[string]bool{}, 0
			r := deadletters.NewResender(&letters, func(_ context.Context, out []event.Event) error {
				if calls++; calls == tc.brokenAt {
					return errDown
				}
				var err error
				for _, e := range out {
					if slices.ContainsFunc(tc.never, func(i int) bool { return fmt.Sprint(i) == e.ID() }) {
						err = errNever
						continue
					}
					sent[e.ID()] = true
				}
				return err
			})
			err := r.Resend(t.Context())
			if errors.Is(err, errDown) != (tc.brokenAt > 0) || outcome.IsTerminal(err) != (tc.never != nil) {
				t.Fatal(err)
			}
			if len(sent) != tc.sent || len(letters) != tc.stillKept {
				t.Errorf("sent %d, still kept %d; want %d and %d", len(sent), len(letters), tc.sent, tc.stillKept)
			}
		})
	}
}
