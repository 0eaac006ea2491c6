// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice.dev/pkg/outcome"
)

var errTimeout = errors.New("timed out")

// The pause between two attempts grows from firstPause to longestPause.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// poll calls ask until it returns true or an error, or the timeout is over. It always
// waits for the first answer, however long that takes, so that it can say what is
// missing.
func poll(ctx context.Context, timeout time.Duration, ask func(context.Context) (bool, error)) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	asking := ctx
	for pause := firstPause; ; pause = min(pause*3/2, longestPause) {
		done, err := ask(asking)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case done || err != nil && asking.Err() == nil:
			return err
		case limited.Err() != nil:
			return errTimeout
		}
		asking = limited
		select {
		case <-limited.Done():
		case <-time.After(pause):
		}
	}
}

// attempts is how often a command reads again after a conflict.
const attempts = 5

// again repeats f as long as it returns a conflict.
func again(f func() error) error {
	var err error
	for range attempts {
		if err = f(); !outcome.IsConflict(err) {
			return err
		}
	}
	return fmt.Errorf("%w: somebody else writes it all the time, try again", err)
}
