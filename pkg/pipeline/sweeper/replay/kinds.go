// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// positionKinds is the position that holds which kinds were selected.
const positionKinds = "kinds"

// selected are the kinds that policies and placements selected.
type selected struct {
	// Since is when somebody began to note that.
	Since time.Time `json:"since"`
	// Last is when each was selected last, by its name.
	Last map[string]time.Time `json:"last"`
}

// Followed are the kinds that the sources follow, as the last look for what was missed
// has it.
func Followed(t *tick.Tick) (kinds []schema.GroupVersionKind) {
	var s selected
	t.Read(positionKinds, &s)
	for _, name := range slices.Sorted(maps.Keys(s.Last)) {
		kinds = append(kinds, kindOf(name))
	}
	return kinds
}

// templates are the kinds that policies and placements select, and what these may
// depend on; what nobody selects any more lingers. Young: who noted that has not done so
// for long enough to know of all that linger.
func (r *Replay) templates(ctx context.Context, positions map[string]string) (kinds []schema.GroupVersionKind, young bool, err error) {
	policies, err := r.hub.Policies(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("list policies: %w", err)
	}
	placed, err := r.placed(ctx)
	if err != nil {
		return nil, false, err
	}
	now := r.now().UTC()
	var s selected
	if err := json.Unmarshal([]byte(positions[positionKinds]), &s); err != nil || s.Last == nil {
		s = selected{Since: now, Last: map[string]time.Time{}}
	}
	kinds = s.take(append(matching.Kinds(policies), placed...), now)
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, false, fmt.Errorf("encode the kinds: %w", err)
	}
	return kinds, now.Sub(s.Since) < linger, r.positions.Save(ctx, positionKinds, string(raw))
}

// take notes what is selected now, and returns what is followed.
func (s *selected) take(now []schema.GroupVersionKind, at time.Time) []schema.GroupVersionKind {
	known := map[schema.GroupKind]schema.GroupVersionKind{}
	for name := range s.Last {
		gvk := kindOf(name)
		known[gvk.GroupKind()] = gvk
	}
	for _, gvk := range now {
		// In one version, and in none anew: that would start the sources anew.
		if former, ok := known[gvk.GroupKind()]; ok {
			gvk = former
		}
		known[gvk.GroupKind()] = gvk
		s.Last[nameOf(gvk)] = at
	}
	var kinds []schema.GroupVersionKind
	for name, last := range s.Last {
		if at.Sub(last) > linger {
			delete(s.Last, name)
			continue
		}
		kinds = append(kinds, kindOf(name))
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return kinds
}

func nameOf(gvk schema.GroupVersionKind) string { return gvk.GroupVersion().String() + " " + gvk.Kind }

// kindOf is the kind of that name.
func kindOf(name string) schema.GroupVersionKind {
	version, kind, _ := strings.Cut(name, " ")
	return schema.FromAPIVersionAndKind(version, kind)
}
