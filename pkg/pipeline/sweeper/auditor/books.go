// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

const (
	// worksAtOnce is after how many Works a sweep opens no other member's.
	worksAtOnce = 20_000
	// positionMembers holds whose turn it is, where one sweep cannot look at all.
	positionMembers = "sweep members"
)

// turn is whose turn it is.
type turn struct {
	// After is the member behind which a sweep begins.
	After string `json:"after,omitempty"`
	// Again: it has looked there once. What is suspected has to be found twice.
	Again bool `json:"again,omitempty"`
}

// Open opens the books: of the Works those of as many members as one sweep may look at,
// of each member all. A small fleet is looked at as a whole with each sweep; of a large
// one the members take turns, of two sweeps each, whoever sweeps. A page stays until each
// of them had its turn.
func (a *Auditor) Open(ctx context.Context, t *tick.Tick, p *page.Page, ready map[string]bool) (Books, error) {
	b := Books{Page: p, Ready: ready, Here: map[string]bool{}}
	var at turn
	t.Read(positionMembers, &at)
	names := slices.Sorted(maps.Keys(ready))
	i, found := slices.BinarySearch(names, at.After)
	if found {
		i++
	}
	if i >= len(names) { // they left meanwhile
		i, at = 0, turn{}
	}
	last := ""
	for _, name := range names[i:] {
		if len(b.Works)+len(b.Placed) >= a.atOnce {
			break
		}
		works, err := a.hub.PolicyWorksOn(ctx, name)
		if err != nil {
			return b, fmt.Errorf("list the Works of %s: %w", name, err)
		}
		placed, err := a.placedOn(ctx, name)
		if err != nil {
			return b, err
		}
		b.Works, b.Placed, b.Here[name], last = append(b.Works, works...), append(b.Placed, placed...), true, name
	}
	t.Partly = len(b.Here) < len(names)
	switch {
	case !t.Partly:
		b.through = true
		t.Put(positionMembers, "")
		return b, nil
	case !at.Again:
		at.Again = true
	case last == names[len(names)-1]:
		b.through, at = true, turn{}
	default:
		at = turn{After: last}
	}
	return b, t.Write(positionMembers, at)
}
