// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"sluice.dev/pkg/core/scheduling/placement"
)

func TestC34ABindingSaysByWhichPolicyItsMemberIsPicked(t *testing.T) {
	notes := func(w *world) string { return w.of("a").Annotations[placement.AnnotationPolicyHash] }
	w := newWorld("1", "1", "a").settle() // as an earlier version leaves it
	w.hash = "first"
	t.Run("an earlier version's is not written for that alone", func(t *testing.T) {
		if steps := w.next().Steps; len(steps) > 0 || notes(w) != "" {
			t.Errorf("%d steps, it notes %q, want none", len(steps), notes(w))
		}
	})
	t.Run("but with the next change", func(t *testing.T) {
		w.snapshot = second
		if w.settle(); notes(w) != "first" {
			t.Errorf("it notes %q", notes(w))
		}
	})
	t.Run("another policy under the same name is noted", func(t *testing.T) {
		w.hash = "second"
		generation := w.of("a").Generation
		if w.settle(); notes(w) != "second" || w.of("a").Generation != generation {
			t.Errorf("it notes %q, in generation %d after %d", notes(w), w.of("a").Generation, generation)
		}
	})
	t.Run("a new one notes it", func(t *testing.T) {
		w := newWorld("1", "1", "a")
		w.hash = "first"
		if w.settle(); notes(w) != "first" {
			t.Errorf("it notes %q", notes(w))
		}
	})
}
