// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package explaining answers why a template is where it is, what waits and for
// what, and what would happen if it waited no longer or if a policy were
// another. It asks the very functions that the stages decide with, so that an
// explanation cannot disagree with what happens.
//
// Invariants:
//   - The same objects have the same explanation; nothing is written.
//   - What a Secret holds is never shown.
//
// It must not decide by itself: what is not said by pkg/core is not known here.
package explaining

import (
	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/claiming"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// World is what decisions about every template depend on.
type World struct {
	Policies []*propagation.Policy
	Clusters []*clusterv1alpha1.Cluster
	Features propagation.Features
	// Unknown is what nobody understands of the gates.
	Unknown []string
	Kinds   kinds.Table
}

// Subject is one template, and what there is because of it.
type Subject struct {
	Template *propagation.Template
	// Binding of the template; nil: none.
	Binding *propagation.Binding
	// Revision is the content in force; nil: none, or it was not read.
	Revision *propagation.Revision
	// Works of the binding.
	Works []*propagation.Work
}

// SuspendedIn returns in which members the one template is suspended, whatever its policy
// says: a value of propagation.AnnotationSuspended.
func (s Subject) SuspendedIn() string {
	suspensions := []string{s.Template.SuspendedIn()}
	if s.Binding != nil {
		suspensions = append(suspensions, s.Binding.SuspendedIn())
	}
	all, clusters := gating.Suspend(nil, suspensions...).Dispatch()
	if all {
		return "true"
	}
	return joined(clusters)
}

// told is that for people; empty: nothing is held back.
func told(suspended string) string {
	if suspended == "true" {
		return "all"
	}
	return suspended
}

// With is the world with p in place of the policy of its key, or in addition.
func (w World) With(p *propagation.Policy) World {
	policies := []*propagation.Policy{p}
	for _, other := range w.Policies {
		if other.Key != p.Key {
			policies = append(policies, other)
		}
	}
	w.Policies = policies
	return w
}

// Holder is the policy that holds the template as its metadata says, if it
// stands: the policy exists, and selects the template. Nil: nobody.
func (w World) Holder(t *propagation.Template) *propagation.Policy {
	for _, p := range w.Policies {
		if claiming.Stands(t, p) {
			return p
		}
	}
	return nil
}

// Claim decides who holds the template.
func (w World) Claim(s Subject) claiming.Decision {
	in := claiming.Input{Template: s.Template, Binding: s.Binding, Features: w.Features}
	if s.Binding != nil && !s.Binding.IsOf(s.Template.Key) {
		in.Binding = nil
	}
	for _, p := range w.Policies {
		in.Candidates = append(in.Candidates, claiming.Candidate{Policy: p})
	}
	return claiming.Decide(in)
}

// Gate is what the gate decides on once the claim is as it has to be.
func (w World) Gate(s Subject) gating.Input {
	in := gating.Input{Template: s.Template, Binding: s.Binding, Features: w.Features, Kinds: w.Kinds}.WithoutFormer()
	d := w.Claim(s)
	in.Policy = d.Policy
	switch d.Verdict {
	case claiming.Take, claiming.Contest:
		t := *s.Template
		t.Claim, t.Baseline = d.Policy.Claim(), d.Baseline
		in.Template = &t
	case claiming.Release:
		t := *s.Template
		t.Claim, t.Baseline = propagation.Claim{}, ""
		in.Template = &t
	}
	return in
}
