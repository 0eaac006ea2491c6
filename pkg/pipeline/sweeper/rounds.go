// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"sluice.dev/pkg/core/sweeping"
)

// The rounds that sweeps make, as they are named among the positions. They are in
// Redis, so that two replicas go on where the other one ended.
const (
	roundWorks      = "sweep works"
	roundOverdue    = "sweep overdue"
	roundFailing    = "sweep failing"
	roundUnrendered = "sweep unrendered"
	roundUnplaced   = "sweep unplaced"
	roundContents   = "sweep contents"
	roundStrays     = "sweep strays"
	roundProtection = "sweep protection"
	roundDue        = "sweep due"
	roundUnsettled  = "sweep unsettled"
	roundRevisit    = "sweep revisit"
)

// rounds is how far the rounds have come.
type rounds struct {
	before map[string]string // as it was stored
	after  map[string]sweeping.Round
}

func newRounds(before map[string]string) *rounds {
	return &rounds{before: before, after: map[string]sweeping.Round{}}
}

// of is how far the round of that name had come. What cannot be read begins anew.
func (r *rounds) of(name string) sweeping.Round {
	var round sweeping.Round
	if err := json.Unmarshal([]byte(r.before[name]), &round); err != nil {
		return nil
	}
	return round
}

func (r *rounds) set(name string, round sweeping.Round) { r.after[name] = round }

// revisit has all Works of a cluster looked at once, by this sweep and the next.
func (r *rounds) revisit(cluster string) {
	due, begun := r.after[roundRevisit]
	if !begun {
		due = maps.Clone(r.of(roundRevisit))
	}
	if due == nil {
		due = sweeping.Round{}
	}
	due[cluster] = ""
	r.set(roundRevisit, due)
}

// due are the clusters whose Works are to be looked at, and behind which.
func (r *rounds) due() sweeping.Round {
	if due, begun := r.after[roundRevisit]; begun {
		return due
	}
	return r.of(roundRevisit)
}

// save stores what is new.
func (r *rounds) save(ctx context.Context, positions Positions) error {
	var failed error
	for name, round := range r.after {
		text := ""
		if len(round) > 0 {
			raw, err := json.Marshal(round)
			if err != nil {
				return fmt.Errorf("encode %s: %w", name, err)
			}
			text = string(raw)
		}
		if text != r.before[name] {
			failed = errors.Join(failed, positions.Save(ctx, name, text))
		}
	}
	return failed
}

// pick chooses at most n of what was found, in the round of that name.
func pick[T any](r *rounds, name string, found []sweeping.Entry[T], n int) []T {
	picked, next := sweeping.Pick(found, n, r.of(name))
	r.set(name, next)
	return picked
}

// laneOf a namespace; of what is in none.
func laneOf(namespace string) string {
	if namespace == "" {
		return "(none)"
	}
	return namespace
}
