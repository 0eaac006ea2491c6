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

// Mistake is an object that would be removed from the members while some selectors
// select nothing, which looks like a typing error in them. As an error it tells people
// why the selection does not take effect.
type Mistake struct {
	Left propagation.TemplateKey
	// Idle are the selectors that select nothing, as a message names them.
	Idle []string
}

// Error describes the mistake for people.
func (m Mistake) Error() string {
	return fmt.Sprintf("%s is selected and not there, and %s %s, which is there, would be removed from members: "+
		"nothing is; correct that selector, or take it out", strings.Join(m.Idle, ", "), m.Left.Kind, m.Left.Name)
}

// Mistakes returns the objects without a namespace that latest has and read has not,
// where a selector looks wrong. Objects in namespaces follow their namespace. dark
// reports kinds whose objects could not be read. The caller checks whether the objects
// still exist.
//
// A selector that names an object which does not exist, or one of a dark kind, is
// suspected for each of them. A selector by labels, or by kind alone, that selects
// nothing is suspected for objects of its kind, and for all objects if nothing at all
// is selected. An object that the selectors would still select with the labels in
// latest was relabelled or deleted by its owner: it is removed as usual.
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

// idle returns the selectors that select nothing of what was read.
func (s Selectors) idle(read Content, dark func(schema.GroupKind) bool) Selectors {
	var idle Selectors
	for _, sel := range s {
		if dark(groupKind(sel)) || !finds(sel, read) {
			idle = append(idle, sel)
		}
	}
	return idle
}

// finds reports whether the selector selects anything in the content. Content lacks the
// system's own labels, so a selector that asks for one of these counts as selecting
// something if there is any object of its kind.
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

// hidden reports whether a selector asks for labels that Scrub removes.
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

// selectsAsKept reports whether the selectors select an object as the snapshot has it.
func (s Selectors) selectsAsKept(i Item) bool {
	var obj map[string]any
	if utiljson.Unmarshal(i.Raw, &obj) != nil {
		return false
	}
	ok, err := s.Select(i.Key, obj)
	var twice *Duplicate
	return ok || errors.As(err, &twice)
}

// called returns the name of a selector for messages.
func called(s placementv1.ClusterResourceSelector) string {
	switch {
	case s.Name != "":
		return s.Kind + " " + s.Name
	case s.LabelSelector != nil:
		return s.Kind + " with " + metav1.FormatLabelSelector(s.LabelSelector)
	}
	return s.Kind
}
