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

// Suspect is something that is not where it has to be: it may be on its way.
type Suspect[T any] struct {
	sweeping.Entry[T]
	// Version is another where somebody wrote it.
	Version string
}

// mark tells one suspect in one version from others.
func (s Suspect[T]) mark() string {
	sum := fnv.New64a()
	for _, part := range []string{s.Lane, s.ID, s.Version} {
		_, _ = io.WriteString(sum, part+"\n")
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// InMind tells whether the sweep suspects anything under that name, so that it has to
// be looked at once more.
func (t *Tick) InMind(name string) bool { return t.Text(name+" suspects") != "" }

// Twice are the suspects that the sweep before this one suspected too, in the same
// version. One sweep has at most n in mind, in a round of that name: of more, each
// has its turn.
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
	out, _ := sweeping.Pick(again, n, nil) // the lanes by turns
	return out
}
