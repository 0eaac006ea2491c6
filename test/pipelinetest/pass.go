// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
)

// PlacementHeads are the Works of placements in a member without what they say, as they
// are.
func (h *Hub) PlacementHeads(ctx context.Context, cluster string) ([]*propagation.Work, error) {
	if err := h.ask(ctx, "list", "heads of works"); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var heads []*propagation.Work
	for _, r := range h.works.live {
		if w := r.value; w.Key.Form == propagation.PlacementForm && w.Key.Cluster == cluster {
			head := *w
			head.Spec.Workload.Manifests, head.Results = nil, nil
			heads = append(heads, &head)
		}
	}
	slices.SortFunc(heads, func(a, b *propagation.Work) int { return strings.Compare(a.Key.Name, b.Key.Name) })
	return heads, nil
}

// Pass marks the object as another Work's, or as nobody's.
func (m *Member) Pass(ctx context.Context, ref member.Ref, p applying.Passing) error {
	if !p.Permits() {
		return fmt.Errorf("pass on %s in %s: nothing permits to", ref, m.Name)
	}
	if err := m.ask(ctx, "patch", ref.String()); err != nil {
		return err
	}
	old := m.objects[ref.ID()]
	switch {
	case old == nil:
		return fmt.Errorf("get %s in %s: %w", ref, m.Name, outcome.ErrGone)
	case old.UID != p.UID() || strconv.Itoa(old.Version) != p.Version():
		return outcome.Conflict(fmt.Errorf("pass on %s in %s: it is another now", ref, m.Name))
	}
	next := *old
	next.Work, next.WorkKey, next.Manifest = "", "", ""
	if heir := p.Heir(); heir != nil {
		next.Work, next.WorkKey = heir.Owner(), keyMark(*heir)
	}
	m.put(&next, true)
	if m.Wrote != nil {
		m.Wrote(ctx, MemberWrite{Cluster: m.Name, Verb: "patch", Old: old, New: &next})
	}
	return nil
}
