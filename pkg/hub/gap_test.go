// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A busy API server ends the watch of whoever does not keep up with it. What is read until
// the next one is open waits for that.
func TestReadsWaitForTheNextWatch(t *testing.T) {
	for name, tt := range map[string]struct {
		follows  func(s *store[string], cancel context.CancelFunc)
		waits    time.Duration
		believed bool
	}{
		"the next one is open":           {follows: func(s *store[string], _ context.CancelFunc) { s.setClosed(false) }, believed: true},
		"everything is listed":           {follows: func(s *store[string], _ context.CancelFunc) { listed(9, rec("a", 5, 5))(s) }, believed: true},
		"it cannot be opened":            {follows: func(s *store[string], _ context.CancelFunc) { s.setBroken(true); s.setClosed(false) }},
		"whoever reads has no more time": {follows: func(_ *store[string], cancel context.CancelFunc) { cancel() }},
		"nobody answers":                 {follows: func(*store[string], context.CancelFunc) {}, waits: longestGap},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore[string]()
				listed(9, rec("a", 5, 5))(s)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s.setClosed(true)
				began, done := time.Now(), make(chan struct{})
				read := func() bool {
					select {
					case <-done:
						return true
					default:
						return false
					}
				}
				go func() {
					defer close(done)
					s.settle(ctx)
				}()
				synctest.Wait()
				if read() {
					t.Fatal("it did not wait")
				}
				tt.follows(s, cancel)
				if tt.waits > 0 {
					time.Sleep(tt.waits) // of the bubble's clock
				}
				synctest.Wait()
				if !read() || time.Since(began) != tt.waits {
					t.Errorf("it waits after %s", time.Since(began))
				}
				s.settle(t.Context()) // who comes later does not wait once more
				if time.Since(began) != tt.waits && tt.believed {
					t.Error("it waits once more")
				}
				if _, _, known := s.get(rec("a", 5, 5).name); known != tt.believed {
					t.Errorf("it is believed: %t", known)
				}
			})
		})
	}
}
