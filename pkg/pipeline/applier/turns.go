// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"sync"

	"sluice.dev/pkg/core/propagation"
)

// turns has one event of this process at a time handle a Work: one about several
// members and one about it alone lose no races against each other.
type turns struct {
	mu   sync.Mutex
	open map[propagation.WorkKey]*turn // those that have users
}

type turn struct {
	token chan struct{} // held by whose turn it is
	users int           // who has it, or waits for it
}

// take waits for one's turn, which ends with the function that it returns.
func (t *turns) take(ctx context.Context, key propagation.WorkKey) (end func(), err error) {
	t.mu.Lock()
	w := t.open[key]
	if w == nil {
		w = &turn{token: make(chan struct{}, 1)}
		t.open[key] = w
	}
	w.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if w.users--; w.users == 0 {
			delete(t.open, key)
		}
	}
	select {
	case w.token <- struct{}{}:
		return func() { <-w.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
