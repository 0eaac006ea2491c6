// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// Mistake is an object that would leave the members because of selectors that select
// nothing, which looks like a wrong word in them. As an error it tells people why the
// selection is not acted on.
type Mistake struct {
	Left propagation.TemplateKey
	// Idle are the selectors, as people call them.
	Idle []string
}

// Error is for people.
func (m Mistake) Error() string {
	return fmt.Sprintf("%s is selected and not there, and %s %s, which is there, would be removed from members: "+
		"nothing is; correct that selector, or take it out", strings.Join(m.Idle, ", "), m.Left.Kind, m.Left.Name)
}

// Mistakes are the objects without a namespace that latest has, that the selectors have
// left out of read, and that would be missed if they are still there; what is in a
// namespace goes with it. dark tells of which kinds nobody can tell.
//
// A selector by a name that is not there, or of a dark kind, is to blame for each of
// them. One by labels, or by its kind alone, that selects nothing of its kind is to
// blame for objects of that kind, and for all if nothing at all is selected. An object
// that the selectors still select by the labels that latest has was relabelled, or
// deleted, by its owner: it leaves.
func (s Selectors) Mistakes(latest, read Content, dark func(schema.GroupKind) bool) []Mistake {
	idle := s.idle(read, dark)
	if len(idle) == 0 {
		return nil
	}
	var all []Mistake
	for _, i := range latest.Items() {
		if i.Key.Namespace != "" || read.Has(i.Key) || s.selectsAsKept(i) {
			continue
		}
		gk, words := i.Key.GroupVersionKind().GroupKind(), []string(nil)
		for _, sel := range idle {
			if sel.Name != "" || groupKind(sel) == gk || dark(groupKind(sel)) || len(read.Items()) == 0 {
				words = append(words, called(sel))
			}
		}
		if len(words) > 0 {
			all = append(all, Mistake{Left: i.Key, Idle: words})
		}
	}
	return all
}

// idle are the selectors that select nothing of what was read.
func (s Selectors) idle(read Content, dark func(schema.GroupKind) bool) Selectors {
	var idle Selectors
	for _, sel := range s {
		if dark(groupKind(sel)) || !finds(sel, read) {
			idle = append(idle, sel)
		}
	}
	return idle
}

// finds tells whether the selector selects anything of the content. Content has no
// labels that are the system's own: a selector that asks for these is taken to find
// something where there is an object of its kind.
func finds(sel placementv1.ClusterResourceSelector, c Content) bool {
	if sel.Name != "" {
		return c.Has(propagation.TemplateKey{APIVersion: versioned(sel).GroupVersion().String(), Kind: sel.Kind, Name: sel.Name})
	}
	if hidden(sel.LabelSelector) {
		sel.LabelSelector = nil
	}
	for _, i := range c.Items() {
		if i.Key.Namespace == "" && i.Key.GroupVersionKind().GroupKind() == groupKind(sel) && (Selectors{sel}).selectsAsKept(i) {
			return true
		}
	}
	return false
}

// hidden tells whether a selector asks for labels that Scrub takes away.
func hidden(s *metav1.LabelSelector) bool {
	if s == nil {
		return false
	}
	for key := range s.MatchLabels {
		if propagation.IsSystemKey(key) {
			return true
		}
	}
	for _, r := range s.MatchExpressions {
		if propagation.IsSystemKey(r.Key) {
			return true
		}
	}
	return false
}

// selectsAsKept tells whether the selectors select an object as a snapshot has it.
func (s Selectors) selectsAsKept(i Item) bool {
	var obj map[string]any
	if utiljson.Unmarshal(i.Raw, &obj) != nil {
		return false
	}
	ok, err := s.Select(i.Key, obj)
	var twice *Duplicate
	return ok || errors.As(err, &twice)
}

// called is what people call a selector.
func called(s placementv1.ClusterResourceSelector) string {
	switch {
	case s.Name != "":
		return s.Kind + " " + s.Name
	case s.LabelSelector != nil:
		return s.Kind + " with " + metav1.FormatLabelSelector(s.LabelSelector)
	}
	return s.Kind
}
