// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"maps"
	"slices"

	"sluice.dev/pkg/core/propagation"
)

// HubBackup is what a hub had.
type HubBackup struct {
	version    uint64
	restores   []func()
	contents   map[propagation.WorkKey]*propagation.KeptContents
	namespaces map[string]bool
	leaving    map[string]bool
	dropped    map[Kind]bool
	features   propagation.Features
}

// Keep is what the hub has, but for what placements have.
func (h *Hub) Keep() HubBackup {
	h.mu.Lock()
	defer h.mu.Unlock()
	return HubBackup{
		version: h.version, contents: maps.Clone(h.contents), namespaces: maps.Clone(h.namespaces), leaving: maps.Clone(h.leaving),
		dropped: maps.Clone(h.dropped), features: h.features,
		restores: []func(){h.templates.keep(), h.policies.keep(), h.overrides.keep(), h.bindings.keep(), h.works.keep(), h.revisions.keep(), h.clusters.keep()},
	}
}

// Restore lets somebody put back what the hub had, versions included. No stage may be
// running, and Restart has to follow.
func (h *Hub) Restore(b HubBackup) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version, h.features, h.contents = b.version, b.features, maps.Clone(b.contents)
	h.namespaces, h.leaving, h.dropped = maps.Clone(b.namespaces), maps.Clone(b.leaving), maps.Clone(b.dropped)
	for _, restore := range b.restores {
		restore()
	}
}

// keep is what puts back the objects as they are.
func (t *table[T]) keep() func() {
	live, own := maps.Clone(t.live), maps.Clone(t.own)
	return func() { t.live, t.own = maps.Clone(live), maps.Clone(own) }
}

// Backup is what a member had.
type Backup struct{ objects map[string]*Object }

// Keep is what the member has.
func (m *Member) Keep() Backup { return Backup{maps.Clone(m.objects)} }

// Restore lets somebody put back what the member had: of all that is otherwise then,
// its source tells.
func (m *Member) Restore(b Backup) {
	all := maps.Clone(m.objects)
	maps.Copy(all, b.objects)
	for _, id := range slices.Sorted(maps.Keys(all)) {
		is, was := m.objects[id], b.objects[id]
		switch {
		case is == was:
		case was == nil:
			m.remove(is, false)
		default:
			next := *was
			m.put(&next, false)
		}
	}
}
