// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Removal is the state of the removal of a template from one cluster, where nobody
// asked for it by name.
type Removal struct {
	// Held is since when the cluster keeps the template; zero: no removal is held.
	Held time.Time `json:"held,omitzero"`
	// Let is when the budget allowed the removal. The cluster keeps the template until
	// the binding is scheduled.
	Let time.Time `json:"let,omitzero"`
	// Approved reports that a person allowed the removal.
	Approved bool `json:"approved,omitempty"`
	// Left is when the budget allowed the last removal that is done.
	Left time.Time `json:"left,omitzero"`
}

// Holds reports whether the cluster has to keep the template.
func (r Removal) Holds() bool { return !r.Held.IsZero() && !r.Goes() }

// Goes reports whether the template may leave the cluster.
func (r Removal) Goes() bool { return !r.Held.IsZero() && (r.Approved || !r.Let.IsZero()) }

// Removals returns the binding's removals by cluster. An annotation that cannot be read
// counts as none.
func (b *Binding) Removals() map[string]Removal {
	text := b.Annotations[AnnotationRemovals]
	if text == "" {
		return nil
	}
	var out map[string]Removal
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil
	}
	return out
}

// HoldsRemoval reports whether the cluster keeps the template although it would be left
// out.
func (b *Binding) HoldsRemoval(cluster string) bool { return b.Removals()[cluster].Holds() }

// HeldRemovals returns the clusters that keep the template although they would be left
// out, sorted.
func (b *Binding) HeldRemovals() []string {
	var out []string
	for cluster, r := range b.Removals() {
		if r.Holds() {
			out = append(out, cluster)
		}
	}
	slices.Sort(out)
	return out
}

// WithRemovals returns a copy of the binding with these removals.
func (b *Binding) WithRemovals(removals map[string]Removal) *Binding {
	next := *b
	next.Annotations = maps.Clone(b.Annotations)
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Labels = maps.Clone(b.Labels)
	if next.Labels == nil {
		next.Labels = map[string]string{}
	}
	delete(next.Annotations, AnnotationRemovals)
	delete(next.Labels, LabelRemoving)
	if len(removals) > 0 {
		raw, err := json.Marshal(removals)
		if err != nil {
			return &next // times of no year that JSON has: they are held anew
		}
		next.Annotations[AnnotationRemovals] = string(raw)
	}
	for _, r := range removals {
		if !r.Held.IsZero() {
			next.Labels[LabelRemoving] = "true"
		}
	}
	return &next
}
