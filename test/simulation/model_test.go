// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// This file is the reference model: who holds a template, and what is in force
// for it, told from the acceptance lines and in as few words as possible. It
// shares no code with pkg/core but the nouns.

// thing is a template, as far as the model needs it.
type thing struct {
	key      propagation.TemplateKey
	uid      string
	hash     string
	labels   map[string]string
	deleting bool
	// changed is when its content last changed, as a count of what people did.
	changed int
	// faint: that change only took something away, which leaves no time.
	faint bool
	// second is when people last wrote it, as the API server tells.
	second time.Time
	// seen: the stages looked at that content, and Redis was not lost since.
	seen bool
	// marked: people wrote something else of it since that changed.
	marked bool
	// blurred: they did before the stages had looked, or Redis was lost after.
	blurred bool
	// lost: Redis was lost since that changed.
	lost bool
	// former are all contents that it had since the last rest.
	former map[string]bool
	// asked are the forms of policies that somebody asked to act on it.
	asked []string
	// known is the version that its binding names; empty: it has none.
	known string
}

// doubtful tells whether nothing can tell whether the template's content or the
// policy was first: the API server keeps the time of the last write alone, in
// seconds, and its versions grow with each write of Sluice. What Redis knew is
// lost, or it never was to be known: that is so, too, of what the policy said for less
// than a second, and nobody saw. Nor is a content new that was there before.
func (t thing) doubtful(r rule) bool {
	return t.blurred || t.former[t.hash] || r.reversioned() || t.second.Equal(r.LastUserWrite) && (t.lost || r.flickers(t))
}

// flickers tells whether the policy selected by just what it selects by now before t
// changed, and by something else in between.
func (r rule) flickers(t thing) bool {
	return !r.selectedAt(t.changed, t) && slices.ContainsFunc(r.forms, func(f formSince) bool {
		return f.moment < t.changed && digest(f.Spec.ResourceSelectors) == digest(r.Spec.ResourceSelectors)
	})
}

// rule is a policy, as far as the model needs it.
type rule struct {
	*propagation.Policy
	// written is when it last changed at all.
	written int
	// faint: one of its changes only took something away, which leaves no time.
	faint bool
	// forms are all that it ever was, and since when.
	forms []formSince
	// served are the versions of gears that the hub serves.
	served string
}

type formSince struct {
	moment int
	*propagation.Policy
	served string
}

// rule is the policy as it was.
func (f formSince) rule() rule { return rule{Policy: f.Policy, served: f.served} }

// selectedAt tells whether the policy selected t at that moment.
func (r rule) selectedAt(moment int, t thing) bool {
	selected := false
	for _, f := range r.forms {
		if f.moment <= moment {
			_, selected = f.rule().matches(t)
		}
	}
	return selected
}

// immediateSince tells whether the policy was not Lazy at some time since that
// moment: then it might have acted, and turned Lazy only before it did.
func (r rule) immediateSince(moment int) bool {
	for i, f := range r.forms {
		ended := i+1 < len(r.forms) && r.forms[i+1].moment <= moment
		if !ended && !f.rule().lazy() {
			return true
		}
	}
	return false
}

// claimed is what a template says about its claim.
type claimed struct {
	policy string // PolicyKey.ID; empty: nobody's
	id     string
	// wait is the content that a Lazy policy found, and that is no change; with
	// a mark that tells one claim from another. Empty: none.
	wait string
	// as is the version of a kind with several in which the Lazy policy found that.
	as string
	// former is who held it when somebody else wrote that.
	former holding
}

// holding is a policy, by its key's ID and its permanent id.
type holding struct{ policy, id string }

// forgot is what is left of c where somebody wrote something else.
func (c claimed) forgot(now claimed) claimed {
	now.former = c.former
	if c.id != "" {
		now.former = holding{c.policy, c.id}
	}
	return now
}

// bound is what a binding says is in force.
type bound struct {
	acted string // hash of the content; empty: nothing ever acted
	form  string // what the policy said; empty: no policy acted
	used  string // the wait that was over when it acted
	// version is that by which it names a template of a kind with several; empty: there is
	// but one, or no binding.
	version string
}

// match is how a policy selects a template.
type match struct {
	rule
	narrow int // 1: by kind, 2: by labels, 3: by name
	named  bool
}

// matches tells whether and how r selects t.
func (r rule) matches(t thing) (m match, ok bool) {
	m.rule = r
	own := r.Key.Scope == propagation.Namespaced
	if r.Deleting || own && r.Key.Namespace != t.key.Namespace {
		return m, false
	}
	for _, s := range r.Spec.ResourceSelectors {
		narrow := 1
		switch {
		case !r.names(s.APIVersion, t), s.Kind != t.key.Kind, s.Namespace != "" && s.Namespace != t.key.Namespace:
			continue
		case s.Name != "" && s.Name != t.key.Name:
			continue
		case s.Name != "":
			narrow = 3
			m.named = m.named || own || s.Namespace == t.key.Namespace
		case s.LabelSelector != nil:
			narrow = 2
			if !covers(t.labels, s.LabelSelector.MatchLabels) {
				continue
			}
		}
		m.narrow = max(m.narrow, narrow)
	}
	return m, m.narrow > 0
}

func covers(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// ranked are those of the rules that select t, best first (P5 to P8).
func ranked(rules []rule, t thing) []match {
	var all []match
	for _, r := range rules {
		if m, ok := r.matches(t); ok {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b match) int {
		return cmp.Or(
			strings.Compare(string(b.Key.Scope), string(a.Key.Scope)), // "Namespaced" comes before "Cluster"
			int(b.Priority())-int(a.Priority()), b.narrow-a.narrow, strings.Compare(a.Key.Name, b.Key.Name),
		)
	})
	return all
}

// entitled tells whether c may take a template from holder (P10 to P19).
func entitled(c, holder match) bool {
	if !c.named || c.Spec.Preemption != policyv1alpha1.PreemptAlways || c.Key == holder.Key {
		return false
	}
	if c.Key.Scope != holder.Key.Scope {
		return c.Key.Scope == propagation.Namespaced
	}
	return c.Priority() > holder.Priority()
}

func (c claimed) by(m match) bool { return c.policy == m.Key.ID() && c.id == m.ID }

// lazy tells whether the policy's changes wait for the template's.
func (r rule) lazy() bool { return r.Spec.ActivationPreference == policyv1alpha1.LazyActivation }

// claim is who may hold the template next, when somebody looks at it: one
// answer, or two where it was not to be told whether the template or the policy
// was first. mark tells this claim's wait from others.
func claim(t thing, rules []rule, f propagation.Features, c claimed, b bound, mark string) []claimed {
	t = state{c, b}.knows(t)
	all := ranked(rules, t)
	return append(choose(t, all, f, c, b, mark), c.restored(t, all, mark)...)
}

// restored is the claim that somebody took off or wrote over, as long as its
// policy selects the template (Z9): index and binding know of it, or one of them,
// or none where that was lost. Where a Lazy policy waited it may wait on.
func (c claimed) restored(t thing, all []match, mark string) []claimed {
	i := slices.IndexFunc(all, claimed{policy: c.former.policy, id: c.former.id}.by)
	if c.former.id == "" || i < 0 {
		return nil
	}
	held := claimed{policy: c.former.policy, id: c.former.id}
	if !all[i].lazy() {
		return []claimed{held}
	}
	return append(taken(t, all[i], true, mark), held)
}

func choose(t thing, all []match, f propagation.Features, c claimed, b bound, mark string) []claimed {
	held := slices.IndexFunc(all, c.by)
	if f.Static && (b.form != "" || held >= 0 && c.outdated(t, b)) { // ST12: it waited for a change, which came
		switch {
		case held >= 0 && (b.acted == t.hash || c.waiting(t, b)): // ST5, ST6: no change since it was claimed
			return []claimed{c}
		case held >= 0 && t.deleting: // ST38: its change acts no more, and would elect another when the gate is switched
			return []claimed{c}
		case b.acted == t.hash, len(all) == 0: // ST9, ST17
			return []claimed{{}}
		case held == 0:
			return []claimed{c}
		}
		return taken(t, all[0], false, mark) // ST7, ST8, ST12
	}
	if held < 0 {
		if len(all) == 0 {
			return []claimed{{}} // L31, L32
		}
		return taken(t, all[0], c.id != "" && !c.outdated(t, b), mark) // L33, L34, L36
	}
	if f.Preemption && !f.Static {
		for _, m := range all {
			if entitled(m, all[held]) {
				return taken(t, m, !c.outdated(t, b), mark) // L35
			}
		}
	}
	return []claimed{c} // P9, L30
}

// outdated tells whether the user changed the template since a policy acted on it, or
// since the Lazy policy that holds it began to wait.
func (c claimed) outdated(t thing, b bound) bool {
	return (b.form != "" || c.wait != "") && !c.waiting(t, b)
}

// taken is the claim of m. A Lazy policy waits for the next change of what it
// found: of what another held, unless nobody has acted on that yet (L55), and of
// what was there before the policy.
func taken(t thing, m match, held bool, mark string) []claimed {
	c := claimed{policy: m.Key.ID(), id: m.ID}
	if !m.lazy() {
		return []claimed{c}
	}
	waits := c
	waits.wait, waits.as = t.hash+"@"+mark+c.id, m.reads(t, bound{})
	switch {
	case held:
		return []claimed{waits}
	case t.doubtful(m.rule):
	case !m.selectedAt(t.changed, t) && !m.faint: // L29
		return []claimed{waits}
	case t.changed > m.written && !t.faint: // L28
		return []claimed{c}
	}
	return []claimed{c, waits}
}

// waiting tells whether the user did not change the template since the Lazy
// policy claimed it, or since it was acted on after that.
func (c claimed) waiting(t thing, b bound) bool {
	if c.wait != "" && c.wait != b.used {
		before, _, _ := strings.Cut(c.wait, "@")
		return before == t.hash
	}
	return b.form != "" && b.acted == t.hash
}

// act is what is in force next, when the gate looks at the template; p is
// the policy that holds it (nil: nobody), required tells whether another
// template takes it along. Pending tells that something waits then.
func act(t thing, p *rule, f propagation.Features, required bool, c claimed, b bound) (next bound, pending bool) {
	outdated := b.acted != t.hash
	if t.deleting {
		return b, outdated || p != nil && b.form != formOf(p.Policy)
	}
	if p == nil {
		if required {
			return bound{acted: t.hash, form: b.form, used: b.used}, false
		}
		return b, b.acted != "" && outdated
	}
	full := bound{acted: t.hash, form: formOf(p.Policy), used: c.wait, version: p.reads(t, b)}
	switch {
	case p.lazy() && !c.waiting(t, b):
		return full, false
	case p.lazy() && b.form == "" && required:
		return bound{acted: t.hash, used: b.used}, true // L46: it follows, and its own policy still waits
	case p.lazy():
		return b, outdated || b.form != full.form
	case f.Static && b.form != "" && !outdated:
		return b, b.form != full.form
	}
	return full, false
}

// formOf is what a policy says about propagation, of which nothing acts before
// its time: not whose a template is, and not the suspension.
func formOf(p *propagation.Policy) string {
	s := &p.Spec
	return form(p.Key.ID(), p.ID, s.PropagateDeps || s.Association, &s.Placement, s.ConflictResolution, s.PreserveResourcesOnDeletion)
}

// formIn is what a binding says that is in force; empty: no policy acted.
func formIn(b *propagation.Binding) string {
	policy := b.Annotations[propagation.AnnotationActivePolicy]
	if policy == "" {
		return ""
	}
	if b.Annotations[propagation.AnnotationActiveGeneration] == "0" {
		return asPlaced(policy, b.Annotations[propagation.AnnotationActivePolicyID])
	}
	s := &b.Spec
	return form(policy, b.Annotations[propagation.AnnotationActivePolicyID], s.PropagateDeps, s.Placement, s.ConflictResolution, s.PreserveResourcesOnDeletion)
}

func form(policy, id string, deps bool, p *policyv1alpha1.Placement, conflict policyv1alpha1.ConflictResolution, preserve *bool) string {
	placement, _ := json.Marshal(p) // no value of it fails
	return fmt.Sprintf("%s %s deps=%t conflict=%s preserve=%t %s", policy, id, deps, conflict, preserve != nil && *preserve, placement)
}
