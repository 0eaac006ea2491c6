// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"sync"

	"sluice.dev/pkg/core/propagation"
)

// keyLock is a lock for each Work: in this process only one event at a time handles a
// Work, so that an event for several members and one for a single member do not
// conflict.
type keyLock struct {
	mu   sync.Mutex
	open map[propagation.WorkKey]*keyed // those that have users
}

type keyed struct {
	token chan struct{} // held by the owner of the lock
	users int           // the owner, and those that wait for the lock
}

// lock waits for the lock of a Work, until ctx ends. The function that it returns
// unlocks it.
func (l *keyLock) lock(ctx context.Context, key propagation.WorkKey) (unlock func(), err error) {
	l.mu.Lock()
	w := l.open[key]
	if w == nil {
		w = &keyed{token: make(chan struct{}, 1)}
		l.open[key] = w
	}
	w.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if w.users--; w.users == 0 {
			delete(l.open, key)
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
