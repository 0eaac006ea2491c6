// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
)

// Standing is where a template stands with a policy.
type Standing string

// The standings, the one that needs attention most first: a template has the
// first that fits.
const (
	// StandsFailed: not scheduled, or refused by a member.
	StandsFailed Standing = "Failed"
	// StandsPending: something waits for the gate.
	StandsPending Standing = "Pending"
	// StandsSuspended: held back in at least one cluster.
	StandsSuspended Standing = "Suspended"
	// StandsActive: the policy acts as it is now.
	StandsActive Standing = "Active"
	// StandsAside: the policy selects the template, another one holds it.
	StandsAside Standing = "HeldByOther"
)

// Standings are all, in that order.
var Standings = []Standing{StandsFailed, StandsPending, StandsSuspended, StandsActive, StandsAside}

// PolicyReport is the answer about one policy.
type PolicyReport struct {
	Policy     propagation.PolicyKey `json:"policy"`
	Generation int64                 `json:"generation"`
	Priority   int32                 `json:"priority"`
	Preempts   bool                  `json:"preempts,omitempty"`
	Lazy       bool                  `json:"lazy,omitempty"`
	// Suspended says which clusters it holds back: "none", "all", or names.
	Suspended string `json:"suspended"`
	// NotServed says which kinds it names that the hub does not serve.
	NotServed string `json:"notServed,omitempty"`
	// NotGranted says which rights Sluice lacks to the kinds that it names.
	NotGranted string `json:"notGranted,omitempty"`
	// Ignored says which fields it sets that nobody acts on.
	Ignored   string           `json:"ignored,omitempty"`
	Counts    map[Standing]int `json:"counts"`
	Templates []TemplateLine   `json:"templates"`
}

// TemplateLine is one template, from the policy's point of view.
type TemplateLine struct {
	Template propagation.TemplateKey `json:"template"`
	Standing Standing                `json:"standing"`
	HeldBy   *propagation.PolicyKey  `json:"heldBy,omitempty"`
	Reason   string                  `json:"reason,omitempty"`
	Message  string                  `json:"message,omitempty"`
}

// ExplainPolicy answers about a policy. Subjects are all templates that it may
// hold or select; those that it does not concern are left out.
func (w World) ExplainPolicy(p *propagation.Policy, subjects []Subject) PolicyReport {
	r := PolicyReport{
		Policy: p.Key, Generation: p.Generation, Priority: p.Priority(), Preempts: p.Preempts(), Lazy: p.Lazy(),
		Suspended: heldBack(p.Spec.Suspension.Dispatch()), NotServed: reporting.NotServed(p), NotGranted: notGranted(p), Ignored: reporting.FieldsIgnored(p), Counts: map[Standing]int{},
	}
	for _, s := range subjects {
		line, concerned := w.line(p, s)
		if !concerned {
			continue
		}
		r.Counts[line.Standing]++
		r.Templates = append(r.Templates, line)
	}
	slices.SortFunc(r.Templates, func(a, b TemplateLine) int {
		return cmp.Or(
			cmp.Compare(slices.Index(Standings, a.Standing), slices.Index(Standings, b.Standing)),
			cmp.Compare(a.Template.ID(), b.Template.ID()),
		)
	})
	return r
}

// notGranted is what the policy says of missing rights; empty: nothing.
func notGranted(p *propagation.Policy) string {
	if c := meta.FindStatusCondition(p.Status.Conditions, reporting.ConditionKindsGranted); c != nil && c.Status == metav1.ConditionFalse {
		return c.Message
	}
	return ""
}

func (w World) line(p *propagation.Policy, s Subject) (TemplateLine, bool) {
	line := TemplateLine{Template: s.Template.Key}
	in := w.Gate(s)
	if in.Policy == nil || in.Policy.Key != p.Key {
		mine, miss := matching.Select(p, s.Template)
		if in.Policy == nil || miss != "" || matching.Exempt(s.Template.Key) != "" {
			return line, false
		}
		line.Standing, line.HeldBy = StandsAside, &in.Policy.Key
		line.Reason, line.Message = "HeldByOther", "it was first"
		if theirs, miss := matching.Select(in.Policy, s.Template); miss == "" && matching.Compare(theirs, mine) < 0 {
			line.Message = matching.Outranks(theirs, mine)
		}
		return line, true
	}
	d := gating.Decide(in)
	line.Standing, line.Reason, line.Message = StandsActive, string(d.Reason), d.Message
	switch failure, failed := Failure(in.Binding); {
	case failed:
		line.Standing, line.Reason, line.Message = StandsFailed, failure.Reason, failure.Message
	case d.Pending():
		line.Standing = StandsPending
	case in.Binding != nil && Suspended(in.Binding.Spec.Suspension) != "none":
		line.Standing, line.Reason, line.Message = StandsSuspended, "Suspended", "held back: "+Suspended(in.Binding.Spec.Suspension)
	case d.Verdict == gating.Open:
		line.Reason, line.Message = settled(in, d)
	}
	return line, true
}

// Failure says what went wrong with a binding; false: nothing.
func Failure(b *propagation.Binding) (Verdict, bool) {
	if b == nil {
		return Verdict{}, false
	}
	for _, c := range b.Status.Conditions {
		if c.Type != gating.ConditionActive && c.Type != workv1alpha2.ConditionFullyApplied && c.Status == metav1.ConditionFalse {
			return Verdict{Verdict: c.Type, Reason: c.Reason, Message: c.Message}, true
		}
	}
	for _, a := range b.Status.AggregatedStatus {
		if !a.Applied && a.AppliedMessage != "" && !b.SuspendedOn(a.ClusterName) {
			return Verdict{Verdict: workv1alpha2.ConditionFullyApplied, Reason: workv1alpha2.ReasonFullyAppliedFailed, Message: a.ClusterName + ": " + a.AppliedMessage}, true
		}
	}
	return Verdict{}, false
}
