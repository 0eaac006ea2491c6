// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"maps"
	"slices"
	"time"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// OverrideObject is the key of an override as a source tells of it.
func OverrideObject(key propagation.PolicyKey) propagation.TemplateKey {
	apiVersion, kind := hub.OverrideKinds()[slices.Index(propagation.Scopes, key.Scope)].ToAPIVersionAndKind()
	return propagation.TemplateKey{APIVersion: apiVersion, Kind: kind, Namespace: key.Namespace, Name: key.Name}
}

// OverridesDefined tells when the definition of the overrides of that scope was made.
func (h *Hub) OverridesDefined(ctx context.Context, scope propagation.Scope) (time.Time, error) {
	return h.Defined(ctx, hub.OverrideKinds()[slices.Index(propagation.Scopes, scope)])
}

// PutOverride lets somebody make an override, or change it. It tells whether anything
// changed.
func (h *Hub) PutOverride(o propagation.Override) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := o.Key.ID()
	old := h.overrides.live[id]
	if o.Created = h.options.Now(); old != nil {
		o.Created = old.value.Created
	}
	if old != nil && same(old.value, o) {
		return false
	}
	r := &row[propagation.Override]{key: OverrideObject(o.Key), version: h.overrides.next(id), value: o}
	if old != nil {
		r.uid = old.uid
	} else {
		r.uid = h.newUID()
	}
	h.overrides.store(id, r, false)
	return true
}

// DropOverride lets somebody delete an override.
func (h *Hub) DropOverride(key propagation.PolicyKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.overrides.live[key.ID()] == nil {
		return false
	}
	h.overrides.remove(key.ID(), false)
	return true
}

// LiveOverrides are all overrides as they are, sorted. For tests.
func (h *Hub) LiveOverrides() []propagation.Override {
	var all []propagation.Override
	for _, id := range slices.Sorted(maps.Keys(h.overrides.live)) {
		all = append(all, h.overrides.live[id].value)
	}
	return all
}
