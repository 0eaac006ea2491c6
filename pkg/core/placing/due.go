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
	// CollectFor is how long changes are collected, from the first one on.
	CollectFor = 15 * time.Second
	// Apart is the least time between two snapshots of a placement.
	Apart = 30 * time.Second
)

// AnnotationAsked, on a snapshot's first part, is Mark.Asked of the placement that
// it was made for.
const AnnotationAsked = "sluice.dev/asked"

// Mark identifies the selectors and kinds that a placement was selected with.
type Mark struct {
	// Asked tells the placement and its selectors apart from others.
	Asked string
	// Served tells the kinds that were looked for in namespaces; empty: none were.
	Served string
	// Refused: what was asked for is an error, so that the latest snapshot is not of
	// this.
	Refused bool
	// Latest is Identity of the snapshot that was the latest then; empty: not known.
	Latest string
	// Again is when everything is read again, since Sluice lacks a right to a part of it;
	// zero: it lacks none.
	Again time.Time
}

// MarkOf returns the mark of the placement as it is now.
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

// String is the mark as one word.
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
	// Known: since it was selected last, all that may have changed was noted.
	Known bool
	// Mark of the placement now, and that by which it was selected last.
	Mark, Selected Mark
	// Made is Mark.Asked of the newest snapshot, Latest its Identity; empty: it is not known.
	Made, Latest string
	// First is when the first of the noted changes was; zero: there is none.
	First time.Time
	// Last is when the latest snapshot was made.
	Last time.Time
}

// Due says when the placement's objects are to be read, and whether all of them
// or only those that changed. Never: nothing has changed.
type Due struct {
	At    time.Time
	All   bool
	Never bool
}

// When decides when the objects are read. What people ask for acts at once; changes of
// objects and kinds wait for the intervals that collect them. What Sluice may not read it
// tries again: nothing tells of a right that was granted.
func (s Situation) When(now time.Time) Due {
	d, again := s.changed(now), s.Selected.Again
	if !again.IsZero() && (d.Never || again.Before(d.At)) {
		return Due{At: again, All: true}
	}
	return d
}

// changed is When for what changed.
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
	if next := s.Last.Add(Apart); next.After(at) {
		at = next
	}
	return Due{At: at, All: all}
}

// Stands reports whether the selectors are those that were acted on before, so that what
// came of reading what they select says nothing of them.
func (s Situation) Stands() bool {
	if s.Mark.Asked == "" || s.Selected.Refused {
		return false
	}
	return s.Known && s.Selected.Asked == s.Mark.Asked || s.Snapshotted && s.Made == s.Mark.Asked
}

// unrecorded tells whether the newest snapshot is another than when the placement was
// selected last: whoever made it ended before that was noted, and may have made it for
// selectors that are not asked for any more; or somebody made it by hand.
func (s Situation) unrecorded() bool {
	return !s.Selected.Refused && s.Latest != "" && s.Selected.Latest != "" && s.Latest != s.Selected.Latest
}

// Now reports whether the objects are due.
func (d Due) Now(now time.Time) bool { return !d.Never && !d.At.After(now) }
