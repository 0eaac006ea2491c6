// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// keeperLimit is how long a foreground Up may take to end its lab.
const keeperLimit = 30 * time.Second

// Down ends the processes that Up started and removes all but the logs.
func (l *Lab) Down(ctx context.Context) error {
	lock, keeper, err := l.acquire(ctx)
	if err != nil {
		return err
	}
	if keeper != nil {
		if err := keeper.id.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		if !keeper.id.WaitGone(keeperLimit) {
			return fmt.Errorf("process %d holds the lab and does not end", keeper.id.PID)
		}
		if lock, keeper, err = l.acquire(ctx); err != nil {
			return err
		}
		if keeper != nil {
			return fmt.Errorf("process %d took the lab up again", keeper.id.PID)
		}
	}
	defer lock.release()
	s, err := l.load()
	if err != nil {
		return err
	}
	if s == nil {
		l.say("down")
		return nil
	}
	if err := l.abandon(s, nil); err != nil {
		return err
	}
	l.say("down, logs kept in %s", l.root())
	return nil
}
