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

// positionKinds is the name under which the selected kinds are stored.
const positionKinds = "kinds"

// selected are the kinds that policies and placements selected.
type selected struct {
	// Since is when this record began.
	Since time.Time `json:"since"`
	// Last is when each kind was last selected, by its name.
	Last map[string]time.Time `json:"last"`
}

// Followed returns the kinds that the sources watch, as of the last search for missed
// changes.
func Followed(t *tick.Tick) (kinds []schema.GroupVersionKind) {
	var s selected
	t.Read(positionKinds, &s)
	for _, name := range slices.Sorted(maps.Keys(s.Last)) {
		kinds = append(kinds, kindOf(name))
	}
	return kinds
}

// templates returns the kinds that policies and placements select, and those that these
// may depend on; kinds that are no longer selected stay for a while. young: the record
// is too new to have all of those.
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

// take records what is selected now, and returns the kinds to watch.
func (s *selected) take(now []schema.GroupVersionKind, at time.Time) []schema.GroupVersionKind {
	known := map[schema.GroupKind]schema.GroupVersionKind{}
	for name := range s.Last {
		gvk := kindOf(name)
		known[gvk.GroupKind()] = gvk
	}
	for _, gvk := range now {
		// A known kind keeps its version: another one would restart the sources.
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

// kindOf returns the kind with that name.
func kindOf(name string) schema.GroupVersionKind {
	version, kind, _ := strings.Cut(name, " ")
	return schema.FromAPIVersionAndKind(version, kind)
}
