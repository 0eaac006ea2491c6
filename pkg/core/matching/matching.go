// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package matching decides which policies select a template, and holds the one
// total order over them.
//
// Invariants:
//   - The order is total: namespaced before cluster policies, then the higher
//     explicit priority, then the more specific selector (name, labels, kind
//     alone), then the name that comes first in the alphabet.
//   - A namespaced policy selects nothing outside its namespace, and so nothing
//     cluster-scoped.
//   - A selector selects by group and kind, whatever version the template was read in.
//     If the hub does not serve the version that the selector names, it selects only
//     templates that are known by exactly that version.
//   - Every "no" says why (Mismatch).
//
// It must not know who holds a template: that is claiming.
package matching

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
)

// Specificity is how narrowly a selector chose a template: the implicit
// priority.
type Specificity int

// From wide to narrow.
const (
	ByKind Specificity = iota + 1
	ByLabels
	ByName
)

// String is for people.
func (s Specificity) String() string {
	switch s {
	case ByName:
		return "by name"
	case ByLabels:
		return "by labels"
	case ByKind:
		return "by kind"
	}
	return "not at all"
}

// Candidate is a policy that selects a template.
type Candidate struct {
	Policy *propagation.Policy
	// By is the narrowest of the policy's selectors that chose the template.
	By Specificity
	// Named reports whether one of the selectors can choose this template only: it gives
	// the name and, in a cluster policy that selects a namespaced template, the namespace
	// too. Only such a selector may preempt.
	Named bool
}

// Mismatch says why a policy does not select a template.
type Mismatch string

// The reasons of a mismatch, the nearest miss last.
const (
	OtherKind      Mismatch = "OtherKind"
	OtherNamespace Mismatch = "OtherNamespace"
	OtherName      Mismatch = "OtherName"
	OtherLabels    Mismatch = "OtherLabels"
	ScopeMismatch  Mismatch = "ScopeMismatch"
	PolicyDeleting Mismatch = "PolicyDeleting"
	// KindNotServed: the hub does not serve the version that the selector names.
	KindNotServed Mismatch = "KindNotServed"
)

var nearness = map[Mismatch]int{OtherKind: 0, KindNotServed: 1, OtherNamespace: 2, OtherName: 3, OtherLabels: 4}

// Select tells whether and how p selects t. Where it does not, the mismatch is
// that of the selector that came nearest.
func Select(p *propagation.Policy, t *propagation.Template) (Candidate, Mismatch) {
	switch {
	case p.Key.Scope == propagation.Namespaced && t.Key.Namespace == "":
		return Candidate{}, ScopeMismatch
	case p.Key.Scope == propagation.Namespaced && t.Key.Namespace != p.Key.Namespace:
		return Candidate{}, OtherNamespace
	}
	c, miss := Candidate{Policy: p}, OtherKind
	for i := range p.Spec.ResourceSelectors {
		s := &p.Spec.ResourceSelectors[i]
		by, why := selects(s, t, p.NotServed)
		if why != "" {
			if nearness[why] > nearness[miss] {
				miss = why
			}
			continue
		}
		c.By = max(c.By, by)
		if by == ByName && (s.Namespace == t.Key.Namespace || p.Key.Scope == propagation.Namespaced) {
			c.Named = true
		}
	}
	switch {
	case c.By == 0:
		return Candidate{}, miss
	case p.Deleting:
		return Candidate{}, PolicyDeleting
	}
	return c, ""
}

// selects tells how one selector selects t, or why it does not.
func selects(s *policyv1alpha1.ResourceSelector, t *propagation.Template, notServed []schema.GroupVersionKind) (Specificity, Mismatch) {
	kind := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
	switch {
	case kind.GroupKind() != t.Key.GroupVersionKind().GroupKind():
		return 0, OtherKind
	case s.APIVersion != t.Key.APIVersion && slices.Contains(notServed, kind):
		return 0, KindNotServed
	case s.Namespace != "" && s.Namespace != t.Key.Namespace:
		return 0, OtherNamespace
	case s.Name != "" && s.Name != t.Key.Name:
		return 0, OtherName
	case s.Name != "":
		return ByName, ""
	case s.LabelSelector == nil:
		return ByKind, ""
	case !MatchesLabels(s, t.Labels):
		return 0, OtherLabels
	}
	return ByLabels, ""
}

// Version returns the API version by which p selects the template's kind and which the
// hub serves; false if p names no such version.
func Version(p *propagation.Policy, t propagation.TemplateKey) (string, bool) {
	for _, s := range p.Spec.ResourceSelectors {
		kind := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
		if kind.GroupKind() == t.GroupVersionKind().GroupKind() && !slices.Contains(p.NotServed, kind) {
			return s.APIVersion, true
		}
	}
	return "", false
}

// Waiting returns a template without a binding in that of p's versions in which a Lazy
// policy found its content, if the template still has that. Since then the hub may have
// begun or ceased to serve another version that p names, and the template may have been
// read in that.
func Waiting(p *propagation.Policy, t *propagation.Template) *propagation.Template {
	found := t.Baseline.Hash()
	if found == "" || found == t.Hash {
		return t
	}
	for _, s := range p.Spec.ResourceSelectors {
		if schema.FromAPIVersionAndKind(s.APIVersion, s.Kind).GroupKind() != t.Key.GroupVersionKind().GroupKind() {
			continue
		}
		if as := t.As(s.APIVersion); as.Hash == found {
			known := *as
			known.Key.APIVersion = s.APIVersion
			return &known
		}
	}
	return t
}

// Kinds returns the kinds that the policies select, and those of possible dependencies.
// Each kind comes once, whatever versions the policies name: in one that the hub
// serves, if any of them is served.
func Kinds(policies []*propagation.Policy) []schema.GroupVersionKind {
	best := map[schema.GroupKind]schema.GroupVersionKind{}
	served := map[schema.GroupKind]bool{}
	take := func(kind schema.GroupVersionKind, yes bool) {
		gk := kind.GroupKind()
		old, known := best[gk]
		if better := yes && !served[gk]; !known || better || yes == served[gk] && kind.Version < old.Version {
			best[gk], served[gk] = kind, yes
		}
	}
	for _, p := range policies {
		for _, s := range p.Spec.ResourceSelectors {
			kind := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
			take(kind, !slices.Contains(p.NotServed, kind))
		}
		if p.Spec.PropagateDeps || p.Spec.Association {
			for _, kind := range dependencies.Kinds {
				take(kind.GroupVersionKind(), true)
			}
		}
	}
	return slices.SortedFunc(maps.Values(best), func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
}

// MatchesLabels tells whether the selector's labels, if it has any, match. A
// selector that cannot be understood matches nothing.
func MatchesLabels(s *policyv1alpha1.ResourceSelector, l map[string]string) bool {
	if s.Name != "" || s.LabelSelector == nil {
		return true
	}
	sel, err := metav1.LabelSelectorAsSelector(s.LabelSelector)
	return err == nil && sel.Matches(labels.Set(l))
}

// Rank is those of policies that select t, best first.
func Rank(policies []*propagation.Policy, t *propagation.Template) []Candidate {
	var ranked []Candidate
	for _, p := range policies {
		if c, miss := Select(p, t); miss == "" {
			ranked = append(ranked, c)
		}
	}
	slices.SortFunc(ranked, Compare)
	return ranked
}

// Compare orders candidates of one template, best first. It is 0 only for a
// policy and itself.
func Compare(a, b Candidate) int {
	return cmp.Or(
		cmp.Compare(scopeRank(a.Policy), scopeRank(b.Policy)),
		cmp.Compare(b.Policy.Priority(), a.Policy.Priority()),
		cmp.Compare(b.By, a.By),
		cmp.Compare(a.Policy.Key.Name, b.Policy.Key.Name),
	)
}

func scopeRank(p *propagation.Policy) int {
	if p.Key.Scope == propagation.Namespaced {
		return 0
	}
	return 1
}

// Outranks says, for people, why a comes before b.
func Outranks(a, b Candidate) string {
	switch {
	case scopeRank(a.Policy) != scopeRank(b.Policy):
		return "a namespaced policy comes before a cluster policy"
	case a.Policy.Priority() != b.Policy.Priority():
		return fmt.Sprintf("priority %d is higher than %d", a.Policy.Priority(), b.Policy.Priority())
	case a.By != b.By:
		return fmt.Sprintf("it selects %s, the other %s", a.By, b.By)
	}
	return "its name comes first in the alphabet"
}
