// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

const (
	// CollectFor is how long changes are collected, counted from the first one.
	CollectFor = 15 * time.Second
	// Apart is the minimum time between two snapshots of a placement.
	Apart = 30 * time.Second
)

// AnnotationAsked, on the first part of a snapshot, is Mark.Asked of the placement that
// the snapshot was created for.
const AnnotationAsked = "sluice.dev/asked"

// Mark identifies the selectors and the kinds with which a placement's objects were
// selected.
type Mark struct {
	// Asked identifies the placement and its selectors: it is a hash of both.
	Asked string
	// Served identifies the kinds that were read in namespaces; empty: none were.
	Served string
	// Refused: the selectors were refused as an error, so that the latest snapshot
	// belongs to others.
	Refused bool
	// Latest is the Identity of the snapshot that was the latest at that time; empty:
	// not known.
	Latest string
	// Again is when everything is read again, because Sluice lacks a right to a part of
	// it; zero: it lacks none.
	Again time.Time
}

// MarkOf returns the mark for the placement as it is now.
func MarkOf(p *placementv1.ClusterResourcePlacement, inNamespaces []schema.GroupVersionKind) Mark {
	m := Mark{Asked: propagation.HashJSON(map[string]any{"uid": p.UID, "selectors": p.Spec.ResourceSelectors})}
	if _, all := SelectorsOf(p).Kinds(); all {
		var kinds []string
		for _, gvk := range inNamespaces {
			kinds = append(kinds, gvk.String())
		}
		slices.Sort(kinds)
		m.Served = propagation.HashJSON(kinds)
	}
	return m
}

// String returns the mark as one word.
func (m Mark) String() string {
	refused := ""
	if m.Refused {
		refused = "refused"
	}
	again := ""
	if !m.Again.IsZero() {
		again = strconv.FormatInt(m.Again.Unix(), 10)
	}
	return strings.Join([]string{m.Asked, m.Served, refused, m.Latest, again}, "/")
}

// ParseMark is the inverse of String. Any other string gives a mark that is equal to no
// placement's.
func ParseMark(s string) Mark {
	parts := strings.Split(s+"////", "/")
	m := Mark{Asked: parts[0], Served: parts[1], Refused: parts[2] == "refused", Latest: parts[3]}
	if again, err := strconv.ParseInt(parts[4], 10, 64); err == nil {
		m.Again = time.Unix(again, 0)
	}
	return m
}

// Situation is what is known of a placement before its objects are read.
type Situation struct {
	// Snapshotted: there is a latest snapshot.
	Snapshotted bool
	// Known: everything that may have changed since the last selection was noted.
	Known bool
	// Mark is for the placement as it is now, Selected that of its last selection.
	Mark, Selected Mark
	// Made is Mark.Asked of the newest snapshot, Latest its Identity; empty: not known.
	Made, Latest string
	// First is when the first noted change was; zero: there is none.
	First time.Time
	// Last is when the latest snapshot was made.
	Last time.Time
}

// Due says when the placement's objects have to be read, and whether all of them or
// only those that changed. Never: nothing changed.
type Due struct {
	At    time.Time
	All   bool
	Never bool
}

// When returns when the objects have to be read. A change of the selectors takes effect
// at once; changes of objects and kinds are collected for a while. What Sluice lacks a
// right to is read again from time to time, since no event tells that a right was
// granted.
func (s Situation) When(now time.Time) Due {
	d, again := s.changed(now), s.Selected.Again
	if !again.IsZero() && (d.Never || again.Before(d.At)) {
		return Due{At: again, All: true}
	}
	return d
}

// changed is When without regard to missing rights. What is said to be of the future was
// noted with another clock, and is not waited for.
func (s Situation) changed(now time.Time) Due {
	at, all := s.First.Add(CollectFor), s.Selected.Refused
	another := !s.Known || s.Mark.Asked != s.Selected.Asked || s.unrecorded()
	switch {
	case another && s.Snapshotted && s.Made == s.Mark.Asked && !s.Selected.Refused: // somebody may just have selected it
		at, all = now, true
	case another, !s.Snapshotted && !s.Selected.Refused:
		return Due{At: now, All: true}
	case s.Mark.Served != s.Selected.Served:
		at, all = now, true
	case s.First.IsZero():
		return Due{Never: true}
	}
	if s.First.After(now.Add(CollectFor)) {
		at = now
	}
	if next := s.Last.Add(Apart); next.After(at) && !s.Last.After(now.Add(Apart)) {
		at = next
	}
	return Due{At: at, All: all}
}

// Stands reports whether the selectors took effect before, so that an error in reading
// what they select is not a fault of the selectors.
func (s Situation) Stands() bool {
	if s.Mark.Asked == "" || s.Selected.Refused {
		return false
	}
	return s.Known && s.Selected.Asked == s.Mark.Asked || s.Snapshotted && s.Made == s.Mark.Asked
}

// unrecorded reports whether the newest snapshot is another one than after the last
// selection. Either the process that created it ended before it recorded that, and the
// selectors may have changed since, or somebody created it by hand.
func (s Situation) unrecorded() bool {
	return !s.Selected.Refused && s.Latest != "" && s.Selected.Latest != "" && s.Latest != s.Selected.Latest
}

// Now reports whether the objects are due.
func (d Due) Now(now time.Time) bool { return !d.Never && !d.At.After(now) }
