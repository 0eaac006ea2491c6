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
	// worksAtOnce is the number of Works after which a sweep reads those of no other
	// member.
	worksAtOnce = 20_000
	// positionMembers is the name under which turn is stored, if one sweep cannot look
	// at all members.
	positionMembers = "sweep members"
)

// turn says which members are next.
type turn struct {
	// After is the member after which a sweep begins.
	After string `json:"after,omitempty"`
	// Again: these members have been looked at once. A suspect has to be found twice.
	Again bool `json:"again,omitempty"`
}

// Open reads the bindings and Works to audit: all Works of as many members as one sweep
// may look at. If there are few members, each sweep looks at all of them; otherwise
// they take turns of two sweeps each, in any replica. A page is kept until every member
// had its turn.
func (a *Auditor) Open(ctx context.Context, t *tick.Tick, p *page.Page, ready map[string]bool) (Books, error) {
	b := Books{Page: p, Ready: ready, Here: map[string]bool{}}
	var at turn
	t.Read(positionMembers, &at)
	names := slices.Sorted(maps.Keys(ready))
	i, found := slices.BinarySearch(names, at.After)
	if found {
		i++
	}
	if i >= len(names) { // they are unjoined meanwhile
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
