// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package pending keeps, in Redis, what changed since each placement was selected.
//
// Invariants:
//   - A placement that has no entry here, as after Redis was lost, has to be selected
//     from scratch, which covers all earlier changes.
//   - A change that is noted while its placement is being selected stays pending: the
//     selection may not have seen it.
//   - If two processes select one placement at once, the changes that the first one
//     took count as done only once the second one says so.
//   - If there are too many changes to read them one by one, everything counts as
//     changed.
//
// It must not know what a placement selects, nor when that is due.
package pending

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/schema"
)

// most is how many changes of a placement are kept one by one.
const most = 500

var (
	//go:embed note.lua
	noteSource string
	//go:embed take.lua
	takeSource string
	//go:embed done.lua
	doneSource string
	//go:embed forget.lua
	forgetSource string
	//go:embed states.lua
	statesSource string

	noteScript   = schema.Guarded(noteSource)
	takeScript   = schema.Guarded(takeSource)
	doneScript   = schema.Guarded(doneSource)
	forgetScript = schema.Guarded(forgetSource)
	statesScript = schema.Guarded(statesSource)

	keys = []string{schema.Placements, schema.PlacementChanges}
)

// Map is what is pending of all placements. It may be used by many goroutines.
type Map struct {
	rdb   redis.UniversalClient
	guard schema.Guard
}

// New is the map in rdb.
func New(rdb redis.UniversalClient) *Map { return &Map{rdb: rdb, guard: schema.Built()} }

// State is what is pending of one placement.
type State struct {
	// Known: everything that changed since Selected was selected is noted.
	Known bool
	// Selected tells by what it was selected last.
	Selected string
	// First is when the first of the noted changes was; zero: there is none.
	First time.Time
	// Last is when the latest snapshot was made; zero: not known.
	Last time.Time
}

// Taken is the changes of a placement that somebody has begun to read.
type Taken struct {
	State
	// Changed are the objects that changed.
	Changed []propagation.TemplateKey
	token   string
}

// Note notes that an object changed, for each of the placements.
func (m *Map) Note(ctx context.Context, placements []string, key propagation.TemplateKey, now time.Time) error {
	if len(placements) == 0 {
		return nil
	}
	args := []any{encode(key), now.UnixMilli(), most}
	for _, p := range placements {
		args = append(args, p)
	}
	if _, _, err := m.guard.Run(ctx, m.rdb, noteScript, keys, args...); err != nil {
		return fmt.Errorf("note the change of %s: %w", key, err)
	}
	return nil
}

// States are those of all placements that are known.
func (m *Map) States(ctx context.Context) (map[string]State, error) {
	_, values, err := m.guard.Run(ctx, m.rdb, statesScript, keys[:1])
	if err != nil {
		return nil, fmt.Errorf("list what is pending: %w", err)
	}
	if len(values)%5 != 0 {
		return nil, errStrange
	}
	states := make(map[string]State, len(values)/5)
	for i := 0; i < len(values); i += 5 {
		if states[values[i]], err = decode(values[i+1:]); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// Take returns what changed of a placement. The changes stay pending until Done.
func (m *Map) Take(ctx context.Context, placement string) (Taken, error) {
	_, values, err := m.guard.Run(ctx, m.rdb, takeScript, keys, placement)
	if err != nil {
		return Taken{}, fmt.Errorf("take what changed of placement %s: %w", placement, err)
	}
	if len(values) < 5 {
		return Taken{}, errStrange
	}
	t := Taken{token: values[0]}
	if t.State, err = decode(values[1:]); err != nil {
		return Taken{}, err
	}
	for _, v := range values[5:] {
		part := strings.Split(v, " ")
		if len(part) != 4 {
			return Taken{}, errStrange
		}
		t.Changed = append(t.Changed, propagation.TemplateKey{APIVersion: part[0], Kind: part[1], Namespace: part[2], Name: part[3]})
	}
	return t, nil
}

// Done records that the changes in t have been selected, by which selectors, and when
// the latest snapshot was made. It is a conflict if somebody else has taken them since.
func (m *Map) Done(ctx context.Context, placement string, t Taken, selected string, last time.Time) error {
	status, _, err := m.guard.Run(ctx, m.rdb, doneScript, keys, placement, t.token, selected, max(0, last.UnixMilli()))
	if err != nil {
		return fmt.Errorf("placement %s is selected: %w", placement, err)
	}
	if status == schema.Stale {
		return outcome.Conflict(fmt.Errorf("placement %s is being selected by another", placement))
	}
	return nil
}

// Forget deletes the entry of a placement: if it is ever selected again, that is from
// scratch.
func (m *Map) Forget(ctx context.Context, placement string) error {
	if _, _, err := m.guard.Run(ctx, m.rdb, forgetScript, keys, placement); err != nil {
		return fmt.Errorf("forget placement %s: %w", placement, err)
	}
	return nil
}

var errStrange = errors.New("a script replied what it never does")

// encode is a key in Redis; no part of it has a space.
func encode(k propagation.TemplateKey) string {
	return strings.Join([]string{k.APIVersion, k.Kind, k.Namespace, k.Name}, " ")
}

// decode reads known, selected, first, last.
func decode(values []string) (State, error) {
	first, err := instant(values[2])
	last, err2 := instant(values[3])
	return State{Known: values[0] == "1", Selected: values[1], First: first, Last: last}, errors.Join(err, err2)
}

// instant reads milliseconds; 0 is no time.
func instant(value string) (time.Time, error) {
	ms, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return time.Time{}, errors.Join(errStrange, err)
	}
	if ms == 0 {
		return time.Time{}, nil
	}
	return time.UnixMilli(ms), nil
}
