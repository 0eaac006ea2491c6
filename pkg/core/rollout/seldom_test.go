// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"
)

// What began to wait right after a sweep is looked at by the next one, a minute later, even
// if that comes a bit late: nobody else may have told of it.
func TestC102TheNextSweepLooksAtWhatJustBeganToWait(t *testing.T) {
	last := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	for _, after := range []time.Duration{time.Minute, 62 * time.Second} {
		for _, id := range []string{"crp-1-m1", "crp-1-m2", "crp-1-m3"} {
			if !Seldom(id, last, last, last.Add(after)) {
				t.Errorf("%s is not looked at %s after it began", id, after)
			}
		}
	}
}
