// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package explaining answers why a template is where it is, what is pending and why,
// and what would happen if that took effect or if a policy were changed. It calls the
// functions with which the stages decide, so that an explanation agrees with what
// happens.
//
// Invariants:
//   - The same objects give the same explanation; nothing is written.
//   - The values of Secrets are never shown.
//
// It must not decide by itself: pkg/core does.
package explaining

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/claiming"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
)

// World is what the decisions about all templates depend on.
type World struct {
	Policies []*propagation.Policy
	Clusters []*clusterv1alpha1.Cluster
	Features propagation.Features
	// Unknown lists the invalid keys and values of the feature gates.
	Unknown []string
	// Kinds is what is known of kinds, for a binding; nil: what is built in.
	Kinds func(b *propagation.Binding) (kinds.Table, error)
}

// kinds is what is known of kinds for the binding. Of what cannot be found out it returns
// why.
func (w World) kinds(b *propagation.Binding) kinds.Table {
	if w.Kinds == nil {
		return kinds.Table{}
	}
	known, err := w.Kinds(b)
	if err != nil && b != nil {
		return kinds.NewTable(map[schema.GroupKind]kinds.Own{b.Template().GroupVersionKind().GroupKind(): kinds.Undefined("", err)})
	}
	return known
}

// Subject is one template, with its binding, content and Works.
type Subject struct {
	Template *propagation.Template
	// Binding of the template; nil: none.
	Binding *propagation.Binding
	// Revision is the content in force; nil: none, or it was not read.
	Revision *propagation.Revision
	// Works of the binding.
	Works []*propagation.Work
}

// SuspendedIn returns in which members this template is suspended by itself, whatever
// its policy says, as a value of propagation.AnnotationSuspended.
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

// told returns a value of AnnotationSuspended for people; empty: not suspended.
func told(suspended string) string {
	if suspended == "true" {
		return "all"
	}
	return suspended
}

// With returns the world with p added, or in place of the policy with its key.
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

// Holder returns the policy that the template's metadata names, if that exists and
// selects the template; nil: none.
func (w World) Holder(t *propagation.Template) *propagation.Policy {
	for _, p := range w.Policies {
		if claiming.Stands(t, p) {
			return p
		}
	}
	return nil
}

// Claim decides which policy holds the template.
func (w World) Claim(s Subject) claiming.Decision { return w.decide(w.worded(s)) }

// worded returns a template without a binding in the version that the policy names which
// holds it, since the stages read it in that (pkg/pipeline/inputs). Read in another one,
// what a Lazy policy found would look changed.
func (w World) worded(s Subject) Subject {
	s = w.waiting(s)
	p := w.decide(s).Policy
	if p == nil || s.Binding != nil && s.Binding.Names(s.Template.Key) {
		return s
	}
	if version, named := matching.Version(p, s.Template.Key); named {
		t := *s.Template.As(version)
		t.Key.APIVersion = version
		s.Template = &t
	}
	return w.waiting(s)
}

// waiting returns a template without a binding in the version in which the policy that
// holds it found what it waits with.
func (w World) waiting(s Subject) Subject {
	for _, p := range w.Policies {
		if s.Template.Claim.By(p) && (s.Binding == nil || !s.Binding.Names(s.Template.Key)) {
			s.Template = matching.Waiting(p, s.Template)
		}
	}
	return s
}

func (w World) decide(s Subject) claiming.Decision {
	in := claiming.Input{Template: s.Template, Binding: s.Binding, Features: w.Features}
	if s.Binding != nil && !s.Binding.Of(s.Template) {
		in.Binding = nil
	}
	for _, p := range w.Policies {
		in.Candidates = append(in.Candidates, claiming.Candidate{Policy: p})
	}
	return claiming.Decide(in)
}

// Gate returns the input of the gate's decision, once the claim is settled. The gate's
// own input (inputs.LoadGate) cannot be used here: it is read from the hub and from
// Redis, for one template whose claim stands. This one is made of what was read already,
// for thousands of templates at once, for claims that are not settled yet, and for
// policies and templates that exist nowhere but in a file.
func (w World) Gate(s Subject) gating.Input {
	s = w.worded(s)
	in := gating.Input{Template: s.Template, Binding: s.Binding, Works: s.Works, Features: w.Features, Kinds: w.kinds(s.Binding)}.WithoutFormer()
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
