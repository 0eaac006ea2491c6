// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
)

// Change is what another version of a policy does to one template.
type Change struct {
	Template propagation.TemplateKey `json:"template"`
	// From and To hold the claim before and after; absent: no policy does.
	From *propagation.PolicyKey `json:"from,omitempty"`
	To   *propagation.PolicyKey `json:"to,omitempty"`
	// Now is what happens to the clusters at once; absent: nothing takes effect.
	Now *Moves `json:"now,omitempty"`
	// Suspension is how the suspension changes, at once; empty: it does not.
	Suspension string `json:"suspension,omitempty"`
	// Later is what happens when the pending change takes effect; absent: nothing is
	// pending.
	Later *Moves `json:"later,omitempty"`
	// PolicyDiff is the difference between what is in force and what comes, now or
	// later.
	PolicyDiff string `json:"policyDiff,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
}

// None reports whether nothing changes, neither now nor later.
func (c Change) None() bool {
	sameHolder := c.From == nil && c.To == nil || c.From != nil && c.To != nil && *c.From == *c.To
	return sameHolder && c.Suspension == "" && c.PolicyDiff == "" && (c.Now == nil || c.Now.None()) && (c.Later == nil || c.Later.None())
}

// Compare returns what happens to a template when the world becomes after. What is
// pending or about to happen in the present world is included.
func (w World) Compare(after World, s Subject) Change {
	in := after.Gate(s)
	d := gating.Decide(in)
	c := Change{Template: s.Template.Key, Reason: string(d.Reason), Message: d.Message}
	if p := w.Holder(s.Template); p != nil {
		c.From = &p.Key
	}
	if in.Policy != nil {
		c.To = &in.Policy.Key
	}
	if d.Next != nil {
		c.Suspension = suspensionChange(in.Binding, d.Next)
	}
	switch {
	case d.Verdict == gating.Open:
		moves := after.moves(in.Binding, d.Next)
		c.Now, c.PolicyDiff = &moves, policyDiff(in.Binding, d.Next)
	case d.Pending() && in.Policy != nil:
		next := Released(in)
		moves := after.moves(in.Binding, next)
		c.Later, c.PolicyDiff = &moves, policyDiff(in.Binding, next)
	}
	return c
}

// Acting returns the binding of a template once everything that may take effect at once
// has; nil: nothing takes effect.
func (w World) Acting(s Subject) *propagation.Binding {
	d := gating.Decide(w.Gate(s))
	if d.Verdict != gating.Open {
		return nil
	}
	return d.Next
}

func suspensionChange(b, next *propagation.Binding) string {
	var before *workv1alpha2.Suspension
	if b != nil {
		before = b.Spec.Suspension
	}
	if equality.Semantic.DeepEqual(before, next.Spec.Suspension) {
		return ""
	}
	return Suspended(before) + " → " + Suspended(next.Spec.Suspension)
}

// Suspended says, for people, in which clusters dispatching is suspended: "none",
// "all", or their names.
func Suspended(s *workv1alpha2.Suspension) string { return heldBack(s.Dispatch()) }

func heldBack(all bool, clusters []string) string {
	switch {
	case all:
		return "all"
	case len(clusters) > 0:
		return strings.Join(clusters, ",")
	}
	return "none"
}
