// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// strays announces the bindings that follow others which do not say so, and those
// that nobody needs. It has to be so in two sweeps, between which nobody wrote the
// binding: a parent's binding that is missing is made anew in between.
func strays(t *tick.Tick, bindings []*propagation.Binding) {
	byKey := make(map[propagation.BindingKey]*propagation.Binding, len(bindings))
	for _, b := range bindings {
		byKey[b.Key] = b
	}
	var suspects []tick.Suspect[*propagation.Binding]
	for _, b := range bindings {
		stray := dependencies.Stray(b, func(key propagation.BindingKey) *propagation.Binding { return byKey[key] })
		if len(stray) > 0 || !dependencies.Needed(b) {
			suspects = append(suspects, suspect(b))
		}
	}
	for _, b := range tick.Twice(t, roundStrays, suspects, tick.Batch) {
		template := b.Template()
		t.Out.Emit(events.BindingScheduled, events.Data{Template: &template, Binding: &b.Key, Reason: events.ReasonFollowsNobody})
	}
}

// suspect is a binding, in the version in which it was read.
func suspect(b *propagation.Binding) tick.Suspect[*propagation.Binding] {
	return tick.Suspect[*propagation.Binding]{Entry: entry(b), Version: b.ResourceVersion}
}

// entry is a binding in the lane of its namespace.
func entry(b *propagation.Binding) sweeping.Entry[*propagation.Binding] {
	return sweeping.Entry[*propagation.Binding]{Lane: tick.LaneOf(b.Key.Namespace), ID: b.Key.ID(), Value: b}
}
