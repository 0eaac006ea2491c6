// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package preemption decides which policy may take a template from a living
// policy that holds it.
//
// Invariants:
//   - Only a policy with preemption: Always takes, and only what one of its
//     selectors names (name; for cluster policies the namespace too).
//   - Only explicit priorities count: equals never take from each other.
//   - A namespaced policy takes from any cluster policy; a cluster policy never
//     takes from a namespaced one.
//   - The answer follows from the policies as they are, not from what changed:
//     a lost event or a restart changes nothing.
//
// It must not know the feature gate: claiming asks only while the gate is on.
package preemption

import (
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
)

// Challenger is the best of ranked (best first) that may take the template from
// holder; nil: none.
func Challenger(ranked []matching.Candidate, holder matching.Candidate) *matching.Candidate {
	for i := range ranked {
		if Entitled(ranked[i], holder) {
			return &ranked[i]
		}
	}
	return nil
}

// Entitled tells whether c may take the template from holder.
func Entitled(c, holder matching.Candidate) bool {
	if c.Policy.Key == holder.Policy.Key || !c.Policy.Preempts() || !c.Named {
		return false
	}
	if c.Policy.Key.Scope != holder.Policy.Key.Scope {
		return c.Policy.Key.Scope == propagation.Namespaced
	}
	return c.Policy.Priority() > holder.Policy.Priority()
}

// Named returns the templates that p may take from others: those that its selectors
// name; none if p does not preempt. A template may be named twice.
func Named(p *propagation.Policy) []propagation.TemplateKey {
	if !p.Preempts() {
		return nil
	}
	var keys []propagation.TemplateKey
	for _, s := range p.Spec.ResourceSelectors {
		if s.Name == "" {
			continue
		}
		key := propagation.TemplateKey{APIVersion: s.APIVersion, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}
		if p.Key.Scope == propagation.Namespaced {
			key.Namespace = p.Key.Namespace
		}
		keys = append(keys, key)
	}
	return keys
}
