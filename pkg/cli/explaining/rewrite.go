// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"cmp"
	"maps"
	"slices"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
)

// Rewrite is a change that is the same in some members that have a template or get it.
type Rewrite struct {
	Template propagation.TemplateKey `json:"template"`
	// Placement that the object belongs to; empty: it is a policy's template.
	Placement string   `json:"placement,omitempty"`
	Clusters  []string `json:"clusters"`
	What      What     `json:"what"`
	// Later: it happens when the pending change takes effect, not at once.
	Later bool `json:"later,omitempty"`
	// Held are those of the clusters in which dispatching is suspended: nothing happens
	// there until it is resumed.
	Held []string `json:"held,omitempty"`
	// Diff is the difference between the manifest as it is rendered now and then.
	Diff string `json:"diff,omitempty"`
	// Failure is why there is no manifest then: the members keep what they have.
	Failure string `json:"failure,omitempty"`
}

// What is what happens in a member.
type What string

// The values of What.
const (
	Changes What = "changes"
	Joins   What = "joins"
	Leaves  What = "leaves"
	Fails   What = "cannot be rendered"
	Mended  What = "can be rendered again"
)

// Side is one of the two states that are compared.
type Side struct {
	World
	Subject
	Overrides []propagation.Override
}

// Rewrites compares what members get from a template in the two states: at once and, if
// that is not all, once the pending change has taken effect.
func Rewrites(before, after Side) ([]Rewrite, error) {
	now, err := rewrites(before, after, World.Coming)
	if err != nil {
		return nil, err
	}
	if after.Waits(after.Subject) == "" {
		return now, nil
	}
	later, err := rewrites(before, after, World.Eventually)
	if err != nil {
		return nil, err
	}
	for _, l := range later {
		if slices.ContainsFunc(now, func(n Rewrite) bool {
			return n.Diff == l.Diff && n.What == l.What && slices.Equal(n.Clusters, l.Clusters)
		}) {
			continue
		}
		l.Later = true
		now = append(now, l)
	}
	return now, nil
}

func rewrites(before, after Side, state func(World, Subject) *propagation.Binding) ([]Rewrite, error) {
	old, _, err := before.rendered(state)
	if err != nil {
		return nil, err
	}
	next, binding, err := after.rendered(state)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, m := range []map[string]map[string]any{old.Manifests, next.Manifests} {
		for name := range m {
			names[name] = true
		}
	}
	for name := range next.Failures {
		names[name] = true
	}
	var out []Rewrite
	for _, name := range slices.Sorted(maps.Keys(names)) {
		r, changed := rewritten(after.Template.Key, name, old, next)
		if !changed {
			continue
		}
		i := slices.IndexFunc(out, func(o Rewrite) bool { return o.What == r.What && o.Diff == r.Diff && o.Failure == r.Failure })
		if i < 0 {
			i = len(out)
			out = append(out, r)
		}
		out[i].Clusters = append(out[i].Clusters, name)
		if binding != nil && binding.SuspendedOn(name) {
			out[i].Held = append(out[i].Held, name)
		}
	}
	slices.SortStableFunc(out, func(a, b Rewrite) int { return cmp.Compare(a.Clusters[0], b.Clusters[0]) })
	return out, nil
}

func (s Side) rendered(state func(World, Subject) *propagation.Binding) (Rendered, *propagation.Binding, error) {
	if s.Template == nil {
		return Rendered{}, nil, nil // it does not exist yet
	}
	b := state(s.World, s.Subject)
	r, err := s.Render(s.Subject, b, s.Overrides)
	return r, b, err
}

// rewritten compares what one member gets; false: it is the same.
func rewritten(key propagation.TemplateKey, cluster string, old, next Rendered) (Rewrite, bool) {
	r := Rewrite{Template: key}
	was, had := old.Manifests[cluster]
	is, has := next.Manifests[cluster]
	failed := next.Failures[cluster]
	switch {
	case failed != nil:
		if before := old.Failures[cluster]; before != nil && before.Error() == failed.Error() {
			return r, false
		}
		r.What, r.Failure = Fails, failed.Error()
		return r, true
	case !had && old.Failures[cluster] != nil:
		r.What = Mended
	case !had:
		r.What = Joins
	case !has:
		r.What = Leaves
	default:
		r.What = Changes
	}
	r.Diff = manifestDiff(key, was, is)
	return r, r.Diff != "" || r.What != Changes
}

// manifestDiff returns the difference in what people wrote; an absent manifest has no
// lines.
func manifestDiff(k propagation.TemplateKey, before, after map[string]any) string {
	before, after = rendering.Unmarked(before), rendering.Unmarked(after)
	if k.IsSecret() {
		before, after = masked(orEmpty(before), orEmpty(after))
	}
	return unified(lined(before), lined(after))
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func lined(manifest map[string]any) string {
	if manifest["kind"] == nil { // masked or not, it is absent
		return ""
	}
	return text(manifest)
}
