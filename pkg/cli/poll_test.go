// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestPoll(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		timeout time.Duration
		ask     func(ctx context.Context, n int) (bool, error)
		asked   int
		want    error
	}{
		"the first answer is waited for":      {time.Nanosecond, func(ctx context.Context, _ int) (bool, error) { return true, ctx.Err() }, 1, nil},
		"a no, when the time is over":         {time.Nanosecond, func(context.Context, int) (bool, error) { return false, nil }, 1, errTimeout},
		"it asks again until the answer is":   {time.Hour, func(_ context.Context, n int) (bool, error) { return n == 3, nil }, 3, nil},
		"an error ends it":                    {time.Hour, func(context.Context, int) (bool, error) { return false, broken }, 1, broken},
		"an error is the first answer, late":  {time.Nanosecond, func(context.Context, int) (bool, error) { return false, broken }, 1, broken},
		"later questions end with their time": {50 * time.Millisecond, func(ctx context.Context, n int) (bool, error) { return wait(ctx, n) }, 2, errTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			err := poll(t.Context(), tc.timeout, func(ctx context.Context) (bool, error) {
				n++
				return tc.ask(ctx, n)
			})
			if !errors.Is(err, tc.want) || n != tc.asked {
				t.Errorf("asked %d times: %v; want %d times and %v", n, err, tc.asked, tc.want)
			}
		})
	}
}

// wait answers no at once, and then never.
func wait(ctx context.Context, n int) (bool, error) {
	if n > 1 {
		<-ctx.Done()
	}
	return false, ctx.Err()
}
