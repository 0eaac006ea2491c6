// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"hash/fnv"
	"time"
)

const (
	// soon is how long what waits is looked at with each sweep: these may be a bit more
	// than a minute apart.
	soon = 2 * time.Minute
	// seldom is how often it is then: a person may take days.
	seldom = 5 * time.Minute
)

// Seldom tells whether it is the turn of something that has waited for a person since
// then, of which last is when it was asked before; zero: nobody knows. Each has its own
// moments, of which none is missed, however far the sweeps are apart.
func Seldom(id string, since, last, now time.Time) bool {
	if now.Sub(since) < soon || last.IsZero() {
		return true
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	shift := time.Duration(h.Sum32()) * time.Millisecond % seldom
	return !last.Add(shift).Truncate(seldom).Equal(now.Add(shift).Truncate(seldom))
}
