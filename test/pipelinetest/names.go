// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/propagation"
)

// AgeWorks gives all Works of policies the names that they had before names had 128
// bits, as if an earlier Sluice had made them. For a time when no stage runs.
func (h *Hub) AgeWorks() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(h.works.live)) {
		w := h.works.live[id].value
		former := propagation.FormerWorkName(w.Binding())
		if w.Key.Form != propagation.PolicyForm || w.Key.Name != propagation.WorkName(w.Binding()) {
			continue
		}
		next := *w
		next.Key.Name = former
		h.works.remove(id, true)
		if h.works.live[next.Key.String()] == nil {
			h.storeWork(&next, true)
		}
		if c := h.contents[w.Key]; c != nil {
			delete(h.contents, w.Key)
			h.contents[next.Key] = c
		}
	}
}

// TwinWork lets somebody put a Work beside that one which is the same but for the
// name, the other of the two that its binding's may have, as who restores a backup.
// False: there is none, or one already.
func (h *Hub) TwinWork(key propagation.WorkKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.works.live[key.String()]
	if r == nil || r.value.Deleting || h.dropped[KindWorks] || h.leaving[key.Namespace()] {
		return false
	}
	twin := *r.value
	for _, name := range propagation.WorkNames(twin.Binding()) {
		if name != key.Name {
			twin.Key.Name = name
		}
	}
	if h.works.live[twin.Key.String()] != nil {
		return false
	}
	twin.UID, twin.Generation = types.UID(fmt.Sprintf("uid of %s %d", twin.Key, h.works.next(twin.Key.String()))), 1
	h.storeWork(&twin, false)
	return true
}

// Age has the object marked with the former name of its Work, as if an earlier Sluice
// had brought it. For a time when no stage runs.
func (m *Member) Age(o *Object) {
	binding := propagation.BindingOf(o.Ref)
	if o.Work != propagation.WorkName(binding) {
		return
	}
	next := *o
	next.Work = propagation.FormerWorkName(binding)
	m.put(&next, true)
}
