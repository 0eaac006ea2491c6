// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"time"
)

// longestGap is how long reads wait for what follows a watch that has ended. The next one
// is usually open within a tenth of a second; without it each read is a request.
const longestGap = time.Second

// gap is the time between the end of a watch and the answer to the attempt to open the
// next one.
type gap struct {
	// over is closed at its end.
	over  chan struct{}
	began time.Time
}

// setGap begins a gap, if there is none, or ends it.
func (s *store[T]) setGap(open bool) {
	switch {
	case open == (s.closed != nil):
	case open:
		s.closed = &gap{over: make(chan struct{}), began: time.Now()}
	default:
		close(s.closed.over)
		s.closed = nil
	}
}

// settle waits for the end of a gap, but no longer than longestGap after its beginning.
// An API server that is busy ends watches that do not keep up: if all reads were live
// then, it would be busier still.
func (s *store[T]) settle(ctx context.Context) {
	if s == nil {
		return
	}
	s.mu.RLock()
	g := s.closed
	s.mu.RUnlock()
	if g == nil {
		return
	}
	late := time.NewTimer(time.Until(g.began.Add(longestGap)))
	defer late.Stop()
	select {
	case <-g.over:
	case <-late.C:
	case <-ctx.Done():
	}
}
