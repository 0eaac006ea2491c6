// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package turns_test

import (
	"slices"
	"testing"

	"sluice.dev/pkg/turns"
)

func TestFlowsTakeTurns(t *testing.T) {
	var w turns.Turns[string]
	w.Add("load", "a")
	gone := w.Add("load", "b")
	w.Add("load", "c")
	w.Add("quick", "d")
	w.Remove(gone)
	w.Remove(w.Add("nobody", "x"))
	var got []string
	for v, ok := w.Next(); ok; v, ok = w.Next() {
		got = append(got, v)
		if v == "d" {
			w.Add("quick", "e")
			w.Add("load", "f")
		}
	}
	if want := []string{"a", "d", "c", "e", "f"}; !slices.Equal(got, want) {
		t.Errorf("handed out %v, want %v", got, want)
	}
	if !w.Empty() {
		t.Error("something waits, and is not handed out")
	}
}
