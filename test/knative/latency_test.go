// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
)

// TestFigures measures and prints; nothing fails but what does not arrive. The
// machine says what the numbers are worth.
func TestFigures(t *testing.T) {
	w := newWorld(t)
	w.policy()
	w.eventually(3*time.Minute, w.crowded)
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
		w.eventually(recovery, func() string {
			if !meta.IsStatusConditionTrue(w.binding(name).Status.Conditions, "FullyApplied") {
				return "it is not told on the hub that " + name + " is there"
			}
			return ""
		})
	}
	t.Logf("template created → object in the last member, one when all is told of the other, %d times: p50 %s, p99 %s",
		len(took), percentile(took, 0.5), percentile(took, 0.99))

	const n = 50
	before, began := w.handled(), time.Now()
	w.load(n, nil)
	w.arrive(10*time.Minute, 41+n)
	seconds := time.Since(began).Seconds()
	t.Logf("%d templates at once to %d members: %.0f s, %.1f templates/s; the stages handled %.0f events/s",
		n, len(members), seconds, n/seconds, float64(w.handled()-before)/seconds)
	w.once(41 + n)
}

// crowded says which function still has more pods than one: while they start or
// end, they take the cores from what is measured.
func (w *world) crowded() string {
	w.Helper()
	n := map[string]int{}
	for _, p := range w.podsOfFunctions() {
		name := p.GetLabels()[labelFunction]
		if n[name]++; n[name] > 1 {
			return name + " has more pods than one"
		}
	}
	return ""
}

// handled is how many events the functions that run have handled, by their own
// metrics.
func (w *world) handled() int {
	w.Helper()
	total := 0
	for _, p := range w.functions() {
		n, err := w.counted("http://"+w.text(&p, "status", "podIP")+":8080/", "")
		var gone *url.Error
		if errors.As(err, &gone) {
			w.Log(err) // the pod has just ended
			continue
		}
		if err != nil {
			w.Fatal(err)
		}
		total += n
	}
	return total
}
