// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"
	"time"
)

// apart is a history of one of the three families, where the clock of the hub is an hour
// ahead of, or behind, that of the processes.
func apart(seed int) (climate, []op) {
	draw := []func(int) (climate, []op){drawn, wider, carriedAbout}[seed%3]
	c, h := draw(seed + 1<<24)
	c.apart = time.Hour
	if seed%2 == 0 {
		c.apart = -time.Hour
	}
	return c, h
}

// TestZ30C30HistoriesWithClocksApart runs histories whose clocks are an hour apart: in the
// end all is as with right clocks, and no later. They are a sixth as many as those of
// TestSimulation.
func TestZ30C30HistoriesWithClocksApart(t *testing.T) {
	first, last := share(6)
	each(t, first, last, apart)
}
