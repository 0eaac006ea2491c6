// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package tick

import (
	"encoding/base64"
	"hash/fnv"
	"io"
	"strings"

	"sluice.dev/pkg/core/sweeping"
)

// Suspect is something that is not as it should be, but may be about to change.
type Suspect[T any] struct {
	sweeping.Entry[T]
	// Version changes when somebody writes it.
	Version string
}

// mark identifies a suspect in one version.
func (s Suspect[T]) mark() string {
	sum := fnv.New64a()
	for _, part := range []string{s.Lane, s.ID, s.Version} {
		_, _ = io.WriteString(sum, part+"\n")
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// InMind reports whether suspects of that name are stored, so that they have to be
// checked again.
func (t *Tick) InMind(name string) bool { return t.Text(name+" suspects") != "" }

// Twice returns the suspects that the previous sweep suspected, too, in the same
// version. One sweep stores at most n suspects, in a round of that name: if there are
// more, they take turns.
func Twice[T any](t *Tick, name string, suspects []Suspect[T], n int) []T {
	inMind := map[string]bool{}
	for _, mark := range strings.Fields(t.Text(name + " suspects")) {
		inMind[mark] = true
	}
	var all []sweeping.Entry[string]
	var again []sweeping.Entry[T]
	for _, s := range suspects {
		mark := s.mark()
		all = append(all, sweeping.Entry[string]{Lane: s.Lane, ID: s.ID, Value: mark})
		if inMind[mark] {
			again = append(again, s.Entry)
		}
	}
	t.Put(name+" suspects", strings.Join(Pick(t, name, all, n), " "))
	out, _ := sweeping.Pick(again, n, nil) // taking turns between lanes
	return out
}
