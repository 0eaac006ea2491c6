// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package tick

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/sweeping"
)

// Stage is the name of the stage that sweeps.
const Stage = "sweeper"

// Batch is how many announcements of each sort one sweep makes at most; the next one
// continues.
const Batch = 200

const (
	// positionSwept is the name under which the start of the last sweep is stored.
	positionSwept = "swept"
	// roundRevisit is the name under which the members are stored whose Works have to
	// be checked once.
	roundRevisit = "sweep revisit"
)

// Positions stores how far sweeps have come.
type Positions interface {
	Load(ctx context.Context) (map[string]string, error)
	Save(ctx context.Context, name, position string) error
}

// Tick is one sweep.
type Tick struct {
	// Out has the announcements.
	Out *events.Batch
	// Now is when the sweep began.
	Now time.Time
	// Last is when the sweep before it began; zero: not known.
	Last time.Time

	// Partly: this sweep looks at some members only. What it does not find may be found
	// by the next.
	Partly bool

	before map[string]string // as stored
	after  map[string]string // to be stored
}

// New begins a sweep because of an event, from the stored positions.
func New(cause event.Event, positions map[string]string, now time.Time) *Tick {
	t := &Tick{Out: events.From(Stage, cause), Now: now, before: positions, after: map[string]string{}}
	t.Last, _ = time.Parse(time.RFC3339Nano, positions[positionSwept])
	t.after[positionSwept] = now.UTC().Format(time.RFC3339Nano)
	return t
}

// Text returns the present value of a position.
func (t *Tick) Text(name string) string {
	if text, changed := t.after[name]; changed {
		return text
	}
	return t.before[name]
}

// Put changes a position.
func (t *Tick) Put(name, text string) { t.after[name] = text }

// Read decodes a position; false: there is none, or it cannot be decoded.
func (t *Tick) Read(name string, into any) bool {
	text := t.Text(name)
	return text != "" && json.Unmarshal([]byte(text), into) == nil
}

// Write changes a position to the JSON of v.
func (t *Tick) Write(name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	t.Put(name, string(raw))
	return nil
}

// Round returns how far the round of that name came; empty if that cannot be decoded.
func (t *Tick) Round(name string) sweeping.Round {
	var round sweeping.Round
	t.Read(name, &round)
	return round
}

// SetRound records how far the round came.
func (t *Tick) SetRound(name string, round sweeping.Round) {
	if len(round) == 0 {
		t.Put(name, "")
		return
	}
	raw, err := json.Marshal(round)
	if err != nil { // strings never fail
		raw = nil
	}
	t.Put(name, string(raw))
}

// Revisit requests that all Works of a member are checked once, by this sweep and the
// next ones.
func (t *Tick) Revisit(cluster string) {
	due := maps.Clone(t.Round(roundRevisit))
	if due == nil {
		due = sweeping.Round{}
	}
	due[cluster] = ""
	t.SetRound(roundRevisit, due)
}

// Revisited picks at most n of the Works that have to be checked once. elsewhere
// reports the members that the sweep does not look at.
func Revisited[T any](t *Tick, found []sweeping.Entry[T], n int, elsewhere func(cluster string) bool) []T {
	due, waiting := t.Round(roundRevisit), sweeping.Round{}
	for cluster, last := range due {
		if elsewhere(cluster) {
			waiting[cluster] = last
			delete(due, cluster)
		}
	}
	picked, due := sweeping.Revisit(found, n, due)
	maps.Copy(waiting, due)
	t.SetRound(roundRevisit, waiting)
	return picked
}

// Save stores the positions that changed.
func (t *Tick) Save(ctx context.Context, positions Positions) error {
	var failed error
	for name, text := range t.after {
		if text != t.before[name] {
			failed = errors.Join(failed, positions.Save(ctx, name, text))
		}
	}
	return failed
}

// Pick picks at most n of the findings, in the round of that name.
func Pick[T any](t *Tick, name string, found []sweeping.Entry[T], n int) []T {
	before := t.Round(name)
	picked, next := sweeping.Pick(found, n, before)
	if t.Partly {
		next = keep(before, next, found)
	}
	t.SetRound(name, next)
	return picked
}

// keep returns the round, including the progress in lanes in which nothing was found.
func keep[T any](before, next sweeping.Round, found []sweeping.Entry[T]) sweeping.Round {
	here := map[string]bool{"": true} // not a lane
	for _, e := range found {
		here[e.Lane] = true
	}
	kept := sweeping.Round{}
	for lane, last := range before {
		if !here[lane] {
			kept[lane] = last
		}
	}
	maps.Copy(kept, next)
	return kept
}

// LaneOf returns the lane of a namespace; cluster-scoped objects have a lane of their
// own.
func LaneOf(namespace string) string {
	if namespace == "" {
		return "(none)"
	}
	return namespace
}
