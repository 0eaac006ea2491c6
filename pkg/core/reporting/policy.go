// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/budget"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
)

// Counts are the templates of each policy by state, from the bindings. A
// template that is claimed and was never propagated has no binding: only the
// claim map knows of it.
func Counts(bindings []*propagation.Binding) map[propagation.Claim]policyv1alpha1.TemplateCounts {
	counts := map[propagation.Claim]policyv1alpha1.TemplateCounts{}
	for _, b := range bindings {
		claim := b.Claim()
		if !claim.Held() {
			continue
		}
		c := counts[claim]
		c.Claimed++
		list := b.Status.Conditions
		if conditions.Is(list, gating.ConditionActive, metav1.ConditionFalse) {
			c.Pending++
		} else {
			c.Active++
		}
		all, some := b.Spec.Suspension.Dispatch()
		suspended := all || len(some) > 0
		if suspended {
			c.Suspended++
		}
		if conditions.Is(list, workv1alpha2.ConditionScheduled, metav1.ConditionFalse) ||
			!suspended && conditions.Is(list, workv1alpha2.ConditionFullyApplied, metav1.ConditionFalse) {
			c.Failed++
		}
		counts[claim] = c
	}
	return counts
}

// ConditionKindsServed on a policy is False while the hub does not serve what a
// selector names: such a selector selects nothing, and what is in force stays.
const ConditionKindsServed = "KindsServed"

// The reasons of ConditionKindsServed.
const (
	ReasonKindsServed   = "KindsServed"
	ReasonKindNotServed = "KindNotServed"
)

// ConditionRemovalHeld on a policy is True while members keep some of its templates
// that would leave them (budget.Member).
const ConditionRemovalHeld = "RemovalHeld"

// NotServed names, for people, the kinds in a policy that the hub does not serve; empty if
// it serves all.
func NotServed(p *propagation.Policy) string {
	if len(p.NotServed) == 0 {
		return ""
	}
	return "the hub does not serve " + named(p.NotServed) + ": check the spelling of apiVersion and kind; what is in force stays"
}

func named(kinds []schema.GroupVersionKind) string {
	var names []string
	for _, gvk := range kinds {
		names = append(names, "kind "+gvk.Kind+" of "+gvk.GroupVersion().String())
	}
	return strings.Join(names, ", ")
}

// ConditionKindsNamespaced on a namespaced policy is False while it names kinds whose
// objects have no namespace: it selects none of them.
const ConditionKindsNamespaced = "KindsNamespaced"

// The reasons of ConditionKindsNamespaced.
const (
	ReasonKindsNamespaced    = "KindsNamespaced"
	ReasonKindHasNoNamespace = "KindHasNoNamespace"
)

// NoNamespace names, for people, the kinds in a namespaced policy whose objects have no
// namespace; empty if all have one.
func NoNamespace(p *propagation.Policy) string {
	if len(p.NoNamespace) == 0 {
		return ""
	}
	return "objects of " + named(p.NoNamespace) + " have no namespace, so a policy of a namespace selects none of them: one without a namespace does"
}

// ConditionKindsGranted on a policy is False while Sluice lacks a right on the hub to
// the objects of a kind that the policy names: those do not move.
const ConditionKindsGranted = "KindsGranted"

// The reasons of ConditionKindsGranted.
const (
	ReasonKindsGranted   = "KindsGranted"
	ReasonKindNotGranted = "KindNotGranted"
)

// NotGranted names, for people, the rights that are missing, and what grants them; empty
// if none is.
func NotGranted(missing []propagation.Right) string {
	if len(missing) == 0 {
		return ""
	}
	var (
		rights    []string
		resources []string
	)
	for _, r := range missing {
		rights = append(rights, strings.Replace(r.String(), " may ", " may not ", 1))
		if name := r.Resource.String(); !slices.Contains(resources, name) {
			resources = append(resources, name)
		}
	}
	return strings.Join(rights, "; ") + ": kubectl sluice grant " + strings.Join(resources, " ") + " prints the role that gives it"
}

// PolicyConditions are the conditions of a policy to whose kinds Sluice lacks these
// rights, and whether they differ from those that it has. Of what is well nothing is
// said that was not said otherwise. Held says what of its templates' removals is held;
// empty: nothing.
func PolicyConditions(p *propagation.Policy, missing []propagation.Right, held string, now time.Time) ([]metav1.Condition, bool) {
	list := p.Status.Conditions
	changed := false
	for _, c := range []struct {
		kind          string
		bad           metav1.ConditionStatus
		reason, why   string
		well, message string
	}{
		{ConditionKindsServed, metav1.ConditionFalse, ReasonKindNotServed, NotServed(p), ReasonKindsServed, "the hub serves all kinds that the policy names"},
		{ConditionKindsNamespaced, metav1.ConditionFalse, ReasonKindHasNoNamespace, NoNamespace(p), ReasonKindsNamespaced, "all kinds that the policy names have namespaces"},
		{ConditionKindsGranted, metav1.ConditionFalse, ReasonKindNotGranted, NotGranted(missing), ReasonKindsGranted, "Sluice has the rights to all kinds that the policy names"},
		{ConditionFieldsIgnored, metav1.ConditionTrue, ReasonNotActedOnYet, FieldsIgnored(propagation.PolicyFields, &p.Spec), ReasonAllFieldsActedOn, "all that the policy says is acted on"},
		{ConditionRemovalHeld, metav1.ConditionTrue, budget.ReasonExceeded, held, budget.ReasonNothingHeld, "no removal of its templates is held"},
	} {
		if c.why == "" && !conditions.Has(list, c.kind) {
			continue
		}
		next := metav1.Condition{Type: c.kind, Status: c.bad, Reason: c.reason, Message: c.why}
		if c.why == "" {
			next.Status, next.Reason, next.Message = well(c.bad), c.well, c.message
		}
		var news bool
		list, news = conditions.Set(list, next, now)
		changed = changed || news
	}
	return list, changed
}

// well is the status of a condition that is bad when it has the other.
func well(bad metav1.ConditionStatus) metav1.ConditionStatus {
	if bad == metav1.ConditionTrue {
		return metav1.ConditionFalse
	}
	return metav1.ConditionTrue
}
