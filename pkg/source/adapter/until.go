// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"errors"
	"time"
)

// until calls run, and cancels its context once why, which is called at each interval,
// returns an error; until then returns that error.
func until(ctx context.Context, every time.Duration, why func() error, run func(ctx context.Context) error) error {
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-running.Done():
				return
			case <-tick.C:
			}
			if err := why(); err != nil {
				end(err)
			}
		}
	}()
	err := run(running)
	if ctx.Err() == nil && running.Err() != nil {
		return errors.Join(context.Cause(running), err)
	}
	return err
}
