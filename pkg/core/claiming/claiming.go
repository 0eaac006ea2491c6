// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package claiming decides who holds a template now.
//
// Invariants:
//   - The decision depends on the objects alone: the same template, policies and
//     feature gates give the same claim, whichever event asked for it.
//   - A policy keeps its claim while it exists and selects the template, unless the
//     gate PropagationPolicyPreemption is on and another policy may preempt it, or the
//     gate StaticPolicy is on and the template's content changed.
//   - A policy that no longer selects a template loses its claim.
//   - The template's owner cannot end a claim: if the labels and annotations of the
//     claim are removed or edited, they are restored from the index and the binding.
//   - When the claiming policy takes effect is not decided here: that is gating.
//
// It must not read anything, know the time, or log.
package claiming

import (
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/preemption"
	"sluice.dev/pkg/core/propagation"
)

// Input is all that a claim depends on.
type Input struct {
	Template *propagation.Template
	// Seen is when the template's content was first seen, as last recorded; that may be an
	// earlier content than the present one. It is zero where nothing is recorded.
	Seen propagation.Sighting
	// Candidates are existing policies. They include every policy that selects the
	// template, and the one that holds it if that still exists.
	Candidates []Candidate
	// Recorded is who held this very template when the index last heard of it;
	// zero where that is not known.
	Recorded propagation.Claim
	// Binding of the template; nil where there is none.
	Binding  *propagation.Binding
	Features propagation.Features
}

// Candidate is a policy, and the version since which it has its present selectors.
type Candidate struct {
	*propagation.Policy
	// Since is the policy's resourceVersion at which its present selectors
	// were first seen; 0 where that is not known.
	Since uint64
}

// Verdict is what has to be done with the claim.
type Verdict string

// The verdicts.
const (
	// Keep: the claim stands.
	Keep Verdict = "Keep"
	// Take: Decision.Policy claims the template now.
	Take Verdict = "Take"
	// Contest: Decision.Policy is entitled to take the template from the
	// living policy that holds it. Only the preemptor acts on it.
	Contest Verdict = "Contest"
	// Release: the claim is removed, and no other policy claims the template now.
	Release Verdict = "Release"
	// Wait: no policy holds the template, and none may claim it now.
	Wait Verdict = "Wait"
)

// Reason says why, for machines; a fixed list.
type Reason string

// The reasons.
const (
	StillSelected Reason = "StillSelected"
	BestMatch     Reason = "BestMatch"
	Successor     Reason = "Successor"
	// Restored: the template's metadata lost or contradicted the claim.
	Restored       Reason = "Restored"
	Preempted      Reason = "Preempted"
	TemplateChange Reason = "TemplateChanged"
	NoPolicy       Reason = "NoPolicy"
	PolicyGone     Reason = "PolicyGone"
	// StaticWaits: with the gate StaticPolicy on, a template that was propagated before
	// can be claimed only when it changes.
	StaticWaits   Reason = "StaticPolicyWaitsForTemplate"
	NeverTemplate Reason = "NeverTemplate"
)

// Decision is the claim as it has to be.
type Decision struct {
	Verdict Verdict
	// Policy that holds, takes, or is entitled to take; nil for Release, Wait.
	Policy *propagation.Policy
	// Holder is the living policy that holds the template now; nil: none.
	Holder *propagation.Policy
	// Baseline that goes with the claim. Only for Take and Contest.
	Baseline propagation.Baseline
	Reason   Reason
	Message  string
}

// Settled reports whether the claim stays as it is.
func (d Decision) Settled() bool { return d.Verdict == Keep || d.Verdict == Wait }

// Decide says who holds the template.
func Decide(in Input) Decision {
	t := in.Template
	if why := matching.Never(t); why != "" {
		return in.nobody(NeverTemplate, why)
	}
	ranked := in.rank()
	holder := in.holder(ranked)
	if in.Features.Static && (in.propagated() || holder != nil && in.unacted()) {
		return in.static(ranked, holder)
	}
	if holder == nil {
		if len(ranked) == 0 {
			return in.nobody(NoPolicy, "no policy selects the template")
		}
		return in.take(Take, ranked[0].Policy, nil)
	}
	if in.Features.Preemption && !in.Features.Static {
		if c := preemption.Challenger(ranked, *holder); c != nil {
			return in.take(Contest, c.Policy, holder.Policy)
		}
	}
	return in.keep(holder.Policy)
}

// keep returns the decision that p keeps its claim. Where the template's metadata does
// not name p, the claim is restored there.
func (in Input) keep(p *propagation.Policy) Decision {
	if in.Template.Claim != p.Claim() {
		return in.restore(p)
	}
	return Decision{Verdict: Keep, Policy: p, Holder: p, Reason: StillSelected, Message: p.Key.String() + " holds the template"}
}

// restore puts the claim of p back on the template. If p is Lazy and was waiting for
// the template to change, the claim gets a baseline, so that p goes on waiting, unless
// the content changed in the same write that lost the claim. Where the template was
// propagated and has changed since, p may not have been waiting: p may be in force
// itself, or may have claimed a template that nobody held before it changed. Where it
// has not changed, p waits unless p is in force.
func (in Input) restore(p *propagation.Policy) Decision {
	d := Decision{Verdict: Take, Policy: p, Holder: p, Reason: Restored, Message: p.Key.String() + " holds the template, whose metadata no longer said so"}
	waits := in.older(p) || in.tookOver(p)
	switch {
	case !in.propagated():
		waits = in.older(p)
	case in.changed():
		waits = waits && in.Seen.Of(in.Template) == in.Seen
	default:
		waits = waits && !in.actedBy(p)
	}
	if p.Lazy() && waits {
		d.Baseline = propagation.NewBaseline(in.Template)
	}
	return d
}

// tookOver reports whether p took the template over from another policy that is still
// in force: the binding records p's claim, but another policy as the active one. Then p
// may be waiting for the template to change.
func (in Input) tookOver(p *propagation.Policy) bool {
	return Bound(in.Template, in.Binding) == p.Claim() && !in.actedBy(p)
}

// actedBy reports whether p is the policy in force.
func (in Input) actedBy(p *propagation.Policy) bool {
	return in.Binding.Annotations[propagation.AnnotationActivePolicyID] == p.ID
}

// static decides while the gate StaticPolicy is on, for a template that was propagated
// before, or for whose first change a Lazy policy waited, which has come: changes of
// policies have no effect, and a change of the template's content gives it to the policy
// that ranks first. A template that is being deleted keeps its holder: its last change
// will never take effect, and so must not move the claim either.
func (in Input) static(ranked []matching.Candidate, holder *matching.Candidate) Decision {
	switch {
	case holder != nil && (in.Template.Deleting || !in.changed() || in.elected()):
		return in.keep(holder.Policy)
	case !in.changed():
		why := "with StaticPolicy on"
		if in.Features.Missing {
			why = propagation.FeaturesMissing
		}
		return in.nobody(StaticWaits, why+", the template is claimed when it changes")
	case len(ranked) == 0:
		return in.nobody(NoPolicy, "no policy selects the template")
	case holder != nil && holder.Policy == ranked[0].Policy:
		return in.keep(holder.Policy)
	}
	var h *propagation.Policy
	if holder != nil {
		h = holder.Policy
	}
	d := in.take(Take, ranked[0].Policy, h)
	d.Reason, d.Baseline = TemplateChange, ""
	if p := d.Policy; p.Lazy() && in.older(p) {
		d.Baseline = propagation.NewBaseline(in.Template)
	}
	return d
}

// propagated reports whether a policy was ever in force for this very template (its
// uid). Being propagated as another template's dependency does not count.
func (in Input) propagated() bool {
	b := in.Binding
	return b != nil && b.ActedHash() != "" && b.Annotations[propagation.AnnotationActivePolicy] != "" && b.TemplateUID() == in.Template.UID
}

// changed tells whether the user changed the template since it was acted on.
func (in Input) changed() bool {
	return in.Binding == nil || in.Binding.ActedHash() != in.Template.Hash
}

// elected reports whether the template's last change has elected the holder already: a
// Lazy policy that claimed the present content and waits for the next change. One
// change elects only once.
func (in Input) elected() bool {
	return in.Template.AsFound() && string(in.Template.Baseline) != in.Binding.Annotations[propagation.AnnotationConsumedBaseline]
}

// unacted reports whether the template has a change that no policy has acted on, and that
// no Lazy one found when it claimed the template.
func (in Input) unacted() bool {
	if !in.propagated() {
		return in.Template.Baseline != "" && !in.Template.AsFound()
	}
	return in.changed() && !in.elected()
}

// take returns the decision that p claims the template, from holder unless that is nil.
// A Lazy policy that follows another waits for the template's next change. One that has
// come already, and that nobody acted on yet, it does not swallow: whether the change or
// the takeover is looked at first is luck.
func (in Input) take(v Verdict, p, holder *propagation.Policy) Decision {
	d := Decision{Verdict: v, Policy: p, Holder: holder, Reason: BestMatch, Message: p.Key.String() + " claims the template"}
	switch {
	case v == Contest:
		d.Reason, d.Message = Preempted, p.Key.String()+" is entitled to take the template from "+holder.Key.String()
	case in.Template.Claim.Held():
		d.Reason, d.Message = Successor, p.Key.String()+" follows "+in.Template.Claim.Policy.String()
	}
	if p.Lazy() && (in.Template.Claim.Held() && !in.unacted() || in.older(p)) {
		d.Baseline = propagation.NewBaseline(in.Template)
	}
	return d
}

// nobody returns the decision that no policy holds the template: Release where a claim
// is recorded, else Wait.
func (in Input) nobody(r Reason, message string) Decision {
	if !in.Template.Claim.Held() && propagation.ClaimMetadataMatches(propagation.Claim{}, in.Template.Labels, in.Template.Annotations()) {
		return Decision{Verdict: Wait, Reason: r, Message: message}
	}
	if r == NoPolicy {
		r, message = PolicyGone, in.Template.Claim.Policy.String()+" is gone or no longer selects the template, and no other policy does"
	}
	return Decision{Verdict: Release, Reason: r, Message: message}
}

// older reports whether the template's content is older than the policy as it is now:
// then a Lazy policy waits for the template's next change. It compares the last writes
// of the two by users (in seconds), then resourceVersions, which order the writes of
// one API server. The template's are those with which its content was first seen. A tie
// counts as older.
func (in Input) older(p *propagation.Policy) bool {
	seen := in.Seen.Of(in.Template)
	if second := p.LastUserWrite.Unix(); seen.Written != second {
		return seen.Written < second
	}
	since := propagation.Version(p.ResourceVersion)
	for _, c := range in.Candidates {
		if c.Policy == p && c.Since != 0 {
			since = c.Since
		}
	}
	return seen.Version <= since
}

func (in Input) rank() []matching.Candidate {
	policies := make([]*propagation.Policy, len(in.Candidates))
	for i, c := range in.Candidates {
		policies[i] = c.Policy
	}
	return matching.Rank(policies, in.Template)
}

// holder returns the policy that holds the template. The template's metadata names it,
// unless the index and the binding agree on another one: then somebody edited the
// metadata who may not. Where the metadata names none, the last holder still holds the
// template, as recorded in the index or else in the binding.
func (in Input) holder(ranked []matching.Candidate) *matching.Candidate {
	claim, bound := in.Template.Claim, Bound(in.Template, in.Binding)
	if in.Recorded.Held() && in.Recorded == bound {
		claim = bound
	}
	if claim.Held() {
		return holderAmong(ranked, claim)
	}
	if h := holderAmong(ranked, in.Recorded); h != nil {
		return h
	}
	return holderAmong(ranked, bound)
}

// Bound returns the claim that the binding records for this very template; the zero
// Claim if it records none.
func Bound(t *propagation.Template, b *propagation.Binding) propagation.Claim {
	if b == nil || b.TemplateUID() != t.UID {
		return propagation.Claim{}
	}
	return b.Claim()
}

// Lost reports whether the template has lost the metadata of p's claim, though its
// binding records the claim and p selects it. The claim has to be restored first.
func Lost(t *propagation.Template, b *propagation.Binding, p *propagation.Policy) bool {
	if t.Claim.Held() || !Bound(t, b).By(p) || matching.Never(t) != "" {
		return false
	}
	_, miss := matching.Select(p, t)
	return miss == ""
}

// Stands reports whether p holds the template, as the template's metadata says.
func Stands(t *propagation.Template, p *propagation.Policy) bool {
	if !t.Claim.By(p) {
		return false
	}
	_, miss := matching.Select(p, t)
	return miss == ""
}

func holderAmong(ranked []matching.Candidate, c propagation.Claim) *matching.Candidate {
	for i := range ranked {
		if c.By(ranked[i].Policy) {
			return &ranked[i]
		}
	}
	return nil
}
