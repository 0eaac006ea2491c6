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

// TemplateState is the state of a template from its policy's point of view.
type TemplateState string

// The states, ordered by how much attention they need: a template has the first that
// applies.
const (
	// TemplateFailed: not scheduled, or rejected by a member.
	TemplateFailed TemplateState = "Failed"
	// TemplatePending: a change waits for the gate.
	TemplatePending TemplateState = "Pending"
	// TemplateSuspended: dispatching is suspended in at least one cluster.
	TemplateSuspended TemplateState = "Suspended"
	// TemplateActive: the policy's present form is in force.
	TemplateActive TemplateState = "Active"
	// TemplateHeldByOther: the policy selects the template, and another one holds it.
	TemplateHeldByOther TemplateState = "HeldByOther"
)

// TemplateStates are all states, in that order.
var TemplateStates = []TemplateState{TemplateFailed, TemplatePending, TemplateSuspended, TemplateActive, TemplateHeldByOther}

// PolicyReport is the state of a policy and its templates.
type PolicyReport struct {
	Policy     propagation.PolicyKey `json:"policy"`
	Generation int64                 `json:"generation"`
	Priority   int32                 `json:"priority"`
	Preempts   bool                  `json:"preempts,omitempty"`
	Lazy       bool                  `json:"lazy,omitempty"`
	// Suspended says in which clusters it suspends dispatching: "none", "all", or
	// names.
	Suspended string `json:"suspended"`
	// NotServed says which kinds it names that the hub does not serve.
	NotServed string `json:"notServed,omitempty"`
	// NoNamespace says which kinds it names that a namespaced policy cannot select.
	NoNamespace string `json:"noNamespace,omitempty"`
	// NotGranted says which rights Sluice lacks to the kinds that it names.
	NotGranted string `json:"notGranted,omitempty"`
	// Untold says of which kinds nothing is known, and why.
	Untold []string `json:"cannotTell,omitempty"`
	// Ignored says which of the fields that it sets have no effect.
	Ignored   string                `json:"ignored,omitempty"`
	Counts    map[TemplateState]int `json:"counts"`
	Templates []TemplateLine        `json:"templates"`
}

// TemplateLine is one template, from the policy's point of view.
type TemplateLine struct {
	Template propagation.TemplateKey `json:"template"`
	State    TemplateState           `json:"standing"`
	HeldBy   *propagation.PolicyKey  `json:"heldBy,omitempty"`
	Reason   string                  `json:"reason,omitempty"`
	Message  string                  `json:"message,omitempty"`
}

// ExplainPolicy returns the report about a policy. subjects are all templates that it
// may hold or select; those that it does not concern are left out.
func (w World) ExplainPolicy(p *propagation.Policy, subjects []Subject) PolicyReport {
	r := PolicyReport{
		Policy: p.Key, Generation: p.Generation, Priority: p.Priority(), Preempts: p.Preempts(), Lazy: p.Lazy(),
		Suspended: heldBack(p.Spec.Suspension.Dispatch()), NotServed: reporting.NotServed(p), NoNamespace: reporting.NoNamespace(p), NotGranted: notGranted(p), Ignored: reporting.FieldsIgnored(propagation.PolicyFields, &p.Spec), Counts: map[TemplateState]int{},
	}
	for _, s := range subjects {
		line, concerned := w.line(p, s)
		if !concerned {
			continue
		}
		r.Counts[line.State]++
		r.Templates = append(r.Templates, line)
	}
	slices.SortFunc(r.Templates, func(a, b TemplateLine) int {
		return cmp.Or(
			cmp.Compare(slices.Index(TemplateStates, a.State), slices.Index(TemplateStates, b.State)),
			cmp.Compare(a.Template.ID(), b.Template.ID()),
		)
	})
	return r
}

// notGranted returns the policy's message about missing rights; empty: none.
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
		if in.Policy == nil || miss != "" || matching.Never(s.Template) != "" {
			return line, false
		}
		line.State, line.HeldBy = TemplateHeldByOther, &in.Policy.Key
		line.Reason, line.Message = "HeldByOther", "it was first"
		if theirs, miss := matching.Select(in.Policy, s.Template); miss == "" && matching.Compare(theirs, mine) < 0 {
			line.Message = matching.Outranks(theirs, mine)
		}
		return line, true
	}
	d := gating.Decide(in)
	line.State, line.Reason, line.Message = TemplateActive, string(d.Reason), d.Message
	switch failure, failed := Failure(in.Binding); {
	case failed:
		line.State, line.Reason, line.Message = TemplateFailed, failure.Reason, failure.Message
	case d.Pending():
		line.State = TemplatePending
	case in.Binding != nil && Suspended(in.Binding.Spec.Suspension) != "none":
		line.State, line.Reason, line.Message = TemplateSuspended, "Suspended", "held back: "+Suspended(in.Binding.Spec.Suspension)
	case d.Verdict == gating.Open:
		line.Reason, line.Message = settled(in, d)
	}
	return line, true
}

// Failure returns what went wrong with a binding; false: nothing.
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
