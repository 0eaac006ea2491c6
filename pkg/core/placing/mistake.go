// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
)

// Idle are the selectors that select nothing of what was read, as people call them:
// those by a name that is not there, and those of a kind of which nobody can tell. That
// no object has the labels asked for is as it may be.
func (s Selectors) Idle(read Content, dark func(schema.GroupKind) bool) []string {
	var idle []string
	for _, sel := range s {
		gk := groupKind(sel)
		key := propagation.TemplateKey{APIVersion: versioned(sel).GroupVersion().String(), Kind: sel.Kind, Name: sel.Name}
		if dark(gk) || sel.Name != "" && !read.Has(key) {
			idle = append(idle, strings.TrimSpace(sel.Kind+" "+sel.Name))
		}
	}
	return idle
}

// LeftOut are the objects without a namespace that latest has and read has not. What is
// in a namespace goes with it.
func LeftOut(latest, read Content) []propagation.TemplateKey {
	var keys []propagation.TemplateKey
	for _, i := range latest.Items() {
		if i.Key.Namespace == "" && !read.Has(i.Key) {
			keys = append(keys, i.Key)
		}
	}
	return keys
}

// Mistake tells people why a selection is not acted on: idle selectors look like a
// misspelled name, and an object that is still there would leave the members for it.
func Mistake(idle []string, left propagation.TemplateKey) error {
	return fmt.Errorf("%s is selected and not there, and %s %s, which is there, would be removed from members: "+
		"nothing is; correct the name, or take that selector out", strings.Join(idle, ", "), left.Kind, left.Name)
}
