// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package gating decides whether the claiming policy's current form, and the
// template's current content, may act now, and what the binding becomes.
//
// Invariants:
//   - Content decides: "did the user change the template?" is the comparison of
//     its hash with the one last acted on, or with the baseline that a Lazy
//     policy found; never which event arrived.
//   - A closed gate changes of a binding only what is never deferred: the claim that it
//     records, the suspension, the protection from deletion, and by whose rules it is
//     bound. (A dependency's content is not deferred either, until a policy of its own has
//     been in force.)
//   - A binding that somebody deleted is made again from its Works, so that what waited
//     goes on waiting.
//   - An open gate that finds everything in force already changes nothing.
//   - Every "no" has a reason.
//
// It must not choose clusters (scheduling) or make manifests (rendering).
package gating

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// Input is all that the gate depends on.
type Input struct {
	Template *propagation.Template
	// Policy that holds the template now; nil: nobody.
	Policy *propagation.Policy
	// Binding of the template; nil: never propagated.
	Binding *propagation.Binding
	// Works of that binding, if NeedsWorks.
	Works    []*propagation.Work
	Features propagation.Features
	Kinds    kinds.Table
}

// Former returns the binding of an earlier template of the same name (another uid),
// which has to be deleted before the gate decides about this one; nil if there is none.
// A binding that exists only as a dependency of other templates is kept, and serves
// this template from now on.
func (in Input) Former() *propagation.Binding {
	b := in.Binding
	if b == nil || !b.Of(in.Template) || b.OutlivesTemplate() || b.TemplateUID() == in.Template.UID {
		return nil
	}
	return b
}

// WithoutFormer returns the input as it is once the Former binding is deleted.
func (in Input) WithoutFormer() Input {
	if in.Former() != nil {
		in.Binding = nil
	}
	return in
}

// Verdict is what happens at the gate.
type Verdict string

// The verdicts.
const (
	// Open: the policy's current form and the template's content act now.
	Open Verdict = "Open"
	// Closed: what was acted on stays in force.
	Closed Verdict = "Closed"
	// Idle: no policy holds the template, and it has no binding: there is nothing to do.
	Idle Verdict = "Idle"
)

// Reason says why, for machines; a fixed list.
type Reason string

// The reasons. The first group opens.
const (
	FirstPropagation Reason = "FirstPropagation"
	TemplateChanged  Reason = "TemplateChanged"
	Immediate        Reason = "Immediate"
	Requested        Reason = "Requested"
	Dependency       Reason = "Dependency"

	WaitingForTemplateChange Reason = "WaitingForTemplateChange"
	StaticPolicy             Reason = "StaticPolicyWaitsForTemplate"
	NoPolicy                 Reason = "NoPolicy"
	TemplateDeleting         Reason = "TemplateDeleting"
	TooLarge                 Reason = "TooLarge"
	NameTaken                Reason = "BindingNameTaken"
	RuleFailed               Reason = "RuleFailed"
	UpToDate                 Reason = "UpToDate"
)

// Decision is the gate's answer.
type Decision struct {
	Verdict Verdict
	Reason  Reason
	// Message for people.
	Message string
	// PolicyPending: the claiming policy, in its present form, is not in force yet.
	PolicyPending bool
	// ContentPending: the template's content is not what was acted on.
	ContentPending bool
	// Next is the binding as it has to be; nil: there is to be none. It is the
	// very Input.Binding where nothing changes.
	Next *propagation.Binding
}

// Pending reports whether something waits for the gate to open.
func (d Decision) Pending() bool {
	return d.Verdict == Closed && (d.PolicyPending || d.ContentPending)
}

// Releasable reports whether somebody may let what waits take effect at once
// (AnnotationActivate): it waits for a change of the template, and nothing else stands in
// its way.
func (d Decision) Releasable() bool {
	return d.Pending() && (d.Reason == WaitingForTemplateChange || d.Reason == StaticPolicy)
}

// Decide says whether the gate is open, and what the binding becomes.
func Decide(in Input) Decision {
	was := in.Binding
	in = in.restored()
	d := in.verdict()
	d.ContentPending = in.contentPending()
	switch d.Verdict {
	case Open:
		d.Next = in.activated()
		d.PolicyPending = false
	case Closed:
		d.PolicyPending = in.policyPending()
		switch {
		case d.Reason == NameTaken:
			d.Next = in.Binding // another template's: it stays as it is
		case d.Reason == TooLarge, d.Reason == RuleFailed:
			d.Next = in.deferred() // a new binding, too, so that it can show the reason
		case in.Binding == nil:
		case in.serves() && !in.acted() && !in.Template.Deleting:
			d.Next = in.carried()
		default:
			d.Next = asNoted(in.deferred())
		}
		d.Message = in.explain(d)
	}
	if d.Next != nil && was != nil && equal(d.Next, was) {
		d.Next = was
	}
	return d
}

// NeedsLatest reports whether a form of the policy that is newer than the one here would
// have to wait for the next change of the template, because this one takes effect now.
// So what was said of the policy before the template changed has to be known.
func (in Input) NeedsLatest() bool { return in.waits() && in.restored().verdict().Verdict == Open }

// verdict asks the rules one after the other; the first that answers decides.
func (in Input) verdict() Decision {
	for _, rule := range []func(Input) (Verdict, Reason, bool){
		taken, deleting, tooLarge, uncounted, unclaimed, requested, static, lazy,
	} {
		if v, r, ok := rule(in); ok {
			return Decision{Verdict: v, Reason: r}
		}
	}
	if !in.acted() {
		return Decision{Verdict: Open, Reason: FirstPropagation}
	}
	return Decision{Verdict: Open, Reason: Immediate}
}

// taken closes the gate where the binding of that name belongs to another template: it
// stays that one's.
func taken(in Input) (Verdict, Reason, bool) {
	switch {
	case in.Binding == nil || in.Binding.Of(in.Template):
		return "", "", false
	case in.Policy == nil:
		return Idle, NoPolicy, true
	}
	return Closed, NameTaken, true
}

// deleting closes the gate: nothing new is propagated of a template that is being
// deleted.
func deleting(in Input) (Verdict, Reason, bool) {
	return Closed, TemplateDeleting, in.Template.Deleting
}

// tooLarge closes the gate for content that is too large to be stored, until it
// changes.
func tooLarge(in Input) (Verdict, Reason, bool) {
	if in.Policy == nil && in.Binding == nil || !in.contentPending() {
		return "", "", false
	}
	_, _, is := in.size()
	return Closed, TooLarge, is
}

// uncounted closes the gate where a rule of the kind's owner fails to tell how many
// replicas the template has: then they cannot be divided among members. It closes it for
// everything where nobody knows the rules any more.
func uncounted(in Input) (Verdict, Reason, bool) {
	switch {
	case in.Policy == nil && in.Binding == nil:
		return "", "", false
	case in.kind().Undefined() != nil:
		return Closed, RuleFailed, true
	case !in.contentPending():
		return "", "", false
	}
	_, err := in.replicas()
	return Closed, RuleFailed, err != nil
}

func (in Input) replicas() (int32, error) { return in.kind().Replicas(in.Template.Object) }

func (in Input) kind() kinds.Kind { return in.Kinds.Of(in.Template.Object) }

func (in Input) size() (has, may int, tooLarge bool) {
	return propagation.TooLarge(in.Template.Key, propagation.Content(in.Template.Object))
}

// unclaimed keeps the gate closed for a template that no policy holds, unless other
// templates depend on it: they take its content along as it changes.
func unclaimed(in Input) (Verdict, Reason, bool) {
	switch {
	case in.Policy != nil:
		return "", "", false
	case in.Binding == nil:
		return Idle, NoPolicy, true
	case in.serves():
		return Open, Dependency, true
	}
	return Closed, NoPolicy, true
}

// requested opens the gate where a person asked for exactly this form of the policy
// (AnnotationActivate).
func requested(in Input) (Verdict, Reason, bool) {
	return Open, Requested, in.Binding != nil && in.Binding.Annotations[propagation.AnnotationActivate] == ActivationOf(in.Policy)
}

// ActivationOf returns the value of AnnotationActivate that lets the present generation
// of p act.
func ActivationOf(p *propagation.Policy) string { return fmt.Sprintf("%s/%d", p.ID, p.Generation) }

// static: with StaticPolicy on, a template that was propagated before opens the gate
// only by a change of its content.
func static(in Input) (Verdict, Reason, bool) {
	switch {
	case !in.Features.Static || !in.acted() || in.Policy.Lazy():
		return "", "", false
	case in.contentPending():
		return Open, TemplateChanged, true
	}
	return Closed, StaticPolicy, true
}

// lazy: a Lazy policy takes effect when the template changes, and at once on a template
// that is newer than the policy.
func lazy(in Input) (Verdict, Reason, bool) {
	switch {
	case !in.Policy.Lazy():
		return "", "", false
	case !in.changed():
		return Closed, WaitingForTemplateChange, true
	case !in.acted():
		return Open, FirstPropagation, true
	}
	return Open, TemplateChanged, true
}

// acted reports whether a policy was ever in force for this very template (its uid).
// Being propagated as another template's dependency does not count.
func (in Input) acted() bool {
	b := in.Binding
	return b != nil && b.ActedHash() != "" && b.Annotations[propagation.AnnotationActivePolicy] != "" && b.TemplateUID() == in.Template.UID
}

// serves tells whether other templates depend on this one: they carry its
// content even while a policy of its own waits.
func (in Input) serves() bool { return in.Binding != nil && len(in.Binding.Spec.RequiredBy) > 0 }

// contentPending tells whether the template's content is not what was acted on.
func (in Input) contentPending() bool {
	b := in.Binding
	return b == nil || b.ActedHash() != in.Template.Hash || b.TemplateUID() != in.Template.UID
}

// changed reports whether the user changed the template since the Lazy policy claimed
// it or, if it was acted on later, since it was acted on.
func (in Input) changed() bool {
	base := in.Template.Baseline
	consumed := propagation.Baseline("")
	if in.Binding != nil {
		consumed = propagation.Baseline(in.Binding.Annotations[propagation.AnnotationConsumedBaseline])
	}
	if base != "" && base != consumed {
		return !in.Template.AsFound()
	}
	return !in.acted() || in.contentPending()
}

// policyPending tells whether what the policy says is not what is in force.
func (in Input) policyPending() bool {
	if in.Policy == nil {
		return false
	}
	return in.Binding == nil || !inForce(in.Policy, in.Binding)
}

// explain is the sentence for a closed gate.
func (in Input) explain(d Decision) string {
	if d.Reason == NameTaken {
		return fmt.Sprintf("its binding would be named %s, which is the name of the binding of %s: nothing of this template is propagated while that binding exists", in.Binding.Key.Name, in.Binding.Template())
	}
	active := "nothing is in force"
	if a := in.Binding; a != nil && a.Annotations[propagation.AnnotationActivePolicy] != "" {
		active = "in force is " + activeForm(a)
		if a.Lost() {
			active += ", whose stored content is lost: members keep what they have"
		}
	}
	switch d.Reason {
	case NoPolicy:
		if d.ContentPending {
			return "the template changed, and no policy holds it, so the change is not propagated; " + active
		}
		return "no policy holds the template; " + active
	case TooLarge:
		has, may, _ := in.size()
		return fmt.Sprintf("the template has %d bytes, of which at most %d can be carried; %s", has, may, active)
	case RuleFailed:
		if err := in.kind().Undefined(); err != nil {
			return fmt.Sprintf("%v; %s", err, active)
		}
		_, err := in.replicas()
		return fmt.Sprintf("nobody can tell how many replicas the template has: %v; %s", err, active)
	case TemplateDeleting:
		if waits := (&unstructured.Unstructured{Object: in.Template.Object}).GetFinalizers(); len(waits) > 0 {
			return "the template is being deleted, and stays, on the hub and in members, as long as it has the finalizers " + strings.Join(waits, ", ") + "; " + active
		}
		return "the template is being deleted; " + active
	}
	if !d.Pending() {
		return active
	}
	if d.Reason == StaticPolicy && in.Features.Missing {
		active += "; " + propagation.FeaturesMissing
	}
	return fmt.Sprintf("%s, generation %d, waits until the template changes; %s", in.Policy.Key, in.Policy.Generation, active)
}

func activeForm(b *propagation.Binding) string {
	key, err := propagation.ParsePolicyID(b.Annotations[propagation.AnnotationActivePolicy])
	if err != nil {
		return "an unknown policy"
	}
	if b.Annotations[propagation.AnnotationActiveGeneration] == strconv.Itoa(unknown) {
		return "what members had of it when its binding was lost"
	}
	return fmt.Sprintf("%s, generation %s", key, b.Annotations[propagation.AnnotationActiveGeneration])
}

// ConditionActive on a binding is True while what its policy says and what its
// template holds are in force, and False while something of it waits.
const ConditionActive = "Active"

// ReasonActive is the reason of ConditionActive while it is True.
const ReasonActive = "InForce"

// InForce describes, for people, what is in force in a binding.
func InForce(b *propagation.Binding) string {
	if b.Annotations[propagation.AnnotationActivePolicy] == "" {
		if len(b.Spec.RequiredBy) > 0 {
			return "follows the templates that depend on it"
		}
		return "nothing is in force"
	}
	return activeForm(b) + " is in force"
}
