// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"fmt"
	"strconv"
	"testing"
	"time"
)

// TestFigures measures and prints; nothing fails but what does not arrive. The
// machine says what the numbers are worth.
func TestFigures(t *testing.T) {
	w := newWorld(t)
	w.policy()
	came := w.arrivals(members[1])
	wait := func(name string) time.Time {
		t.Helper()
		deadline := time.After(recovery)
		for {
			select {
			case a := <-came:
				if a.name == name {
					return a.at
				}
			case <-deadline:
				t.Fatalf("%s did not arrive", name)
			}
		}
	}
	var took []time.Duration
	for i := range 40 {
		name := fmt.Sprintf("one-%03d", i)
		w.template(name, strconv.Itoa(i))
		made := time.Now()
		took = append(took, wait(name).Sub(made))
	}
	t.Logf("template created → object in the last member, one at a time, %d times: p50 %s, p99 %s",
		len(took), percentile(took, 0.5), percentile(took, 0.99))

	const n = 100
	began := time.Now()
	w.load(n, nil)
	w.arrive(10*time.Minute, 41+n)
	t.Logf("%d templates to %d members: %s, %.1f templates/s", n, len(members), time.Since(began).Round(time.Second),
		n/time.Since(began).Seconds())
	w.once(41 + n)
}
