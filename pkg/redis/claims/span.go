// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"slices"
	"strings"

	"sluice.dev/pkg/core/propagation"
)

// A span is a range of a sorted set's members: from min up to, and without, max.
type span struct{ min, max string }

func (s span) first() string { return "[" + s.min }
func (s span) last() string  { return "(" + s.max }

// prefixed spans the members that begin with p. Members are UTF-8, in which no
// byte is 0xff.
func prefixed(p string) span { return span{p, p + "\xff"} }

// exactly spans one member.
func exactly(member string) span { return span{member, after(member)} }

// after is the least member that is greater.
func after(member string) string { return member + "\x00" }

// heldBy spans what a policy holds. The template's id follows.
func heldBy(key propagation.PolicyKey) span { return prefixed(key.ID() + "\n") }

// A waiting template stands at two places, so that those of a namespace, those
// of a kind and those of a name can be found without looking at others.
func waitingByNamespace(t propagation.TemplateKey) string {
	return namespacePlace(t.GroupVersionKind().Group, t.Kind) + t.Namespace + "\n" + t.ID()
}

func waitingByName(t propagation.TemplateKey) string {
	return namePlace(t.GroupVersionKind().Group, t.Kind, t.Name) + t.ID()
}

func namespacePlace(group, kind string) string { return "namespace:" + group + "/" + kind + "/" }
func namePlace(group, kind, name string) string {
	return "name:" + group + "/" + kind + "/" + name + "\n"
}

// waitingFor spans the waiting templates that a selector may select.
func waitingFor(s Selector) span {
	t := propagation.TemplateKey{APIVersion: s.APIVersion, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}
	group := t.GroupVersionKind().Group
	switch {
	case s.Name != "" && s.Namespace != "":
		return exactly(waitingByNamespace(t))
	case s.Name != "":
		return prefixed(namePlace(group, s.Kind, s.Name))
	case s.Namespace != "":
		return prefixed(namespacePlace(group, s.Kind) + s.Namespace + "\n")
	default:
		return prefixed(namespacePlace(group, s.Kind))
	}
}

// merge sorts spans, of which any two are apart or one within the other, and
// leaves out those within others.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int {
		if c := strings.Compare(a.min, b.min); c != 0 {
			return c
		}
		return strings.Compare(b.max, a.max)
	})
	var merged []span
	for _, s := range spans {
		if n := len(merged); n == 0 || s.max > merged[n-1].max {
			merged = append(merged, s)
		}
	}
	return merged
}

// beyond is what is left of merged spans behind a cursor, which is a member.
func beyond(spans []span, cursor string) []span {
	if cursor == "" {
		return spans
	}
	var left []span
	for _, s := range spans {
		s.min = max(s.min, after(cursor))
		if s.min < s.max {
			left = append(left, s)
		}
	}
	return left
}
