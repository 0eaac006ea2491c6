// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// pair is a template as it is, and as it would be; a nil template does not exist.
type pair struct{ before, after explaining.Subject }

// rewrites returns what would change in members for the templates of a file, and for
// those that its overrides concern; untouched counts those for which nothing would.
func (o *diffOptions) rewrites(ctx context.Context, h *hub.Hub, before, after explaining.World, planned drafts) (out []explaining.Rewrite, untouched int, err error) {
	if len(planned.templates)+len(planned.overrides) == 0 {
		return nil, 0, nil
	}
	overrides, err := h.AllOverrides(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("list overrides: %w", installed(err))
	}
	pairs, err := pairsOf(ctx, h, planned, overrides)
	if err != nil {
		return nil, 0, err
	}
	next := instead(overrides, planned.overrides...)
	for _, p := range pairs {
		some, err := explaining.Rewrites(
			explaining.Side{World: before, Subject: p.before, Overrides: overrides},
			explaining.Side{World: after, Subject: p.after, Overrides: next},
		)
		if err != nil {
			return nil, 0, err
		}
		if len(some) == 0 {
			untouched++
		}
		out = append(out, some...)
	}
	return out, untouched, nil
}

// rewritten is what would change in members for templates, and for placements, and for
// how many of these nothing would.
type rewritten struct {
	templates, placed             []explaining.Rewrite
	untouched, untouchedPlacement int
}

func (o *diffOptions) allRewrites(ctx context.Context, h *hub.Hub, before, after explaining.World, planned drafts) (r rewritten, err error) {
	if r.templates, r.untouched, err = o.rewrites(ctx, h, before, after, planned); err != nil {
		return r, err
	}
	r.placed, r.untouchedPlacement, err = o.placedRewrites(ctx, h, planned.placed)
	return r, err
}

func (o *diffOptions) showAllRewrites(planned drafts, r rewritten) {
	if len(planned.templates)+len(planned.overrides) > 0 {
		o.showRewrites(r.templates, r.untouched)
	}
	if len(planned.placed) > 0 {
		o.showPlacedRewrites(r.placed, r.untouchedPlacement)
	}
}

// pairsOf returns the templates of a file, in its order, and then those that its
// overrides concern.
func pairsOf(ctx context.Context, h *hub.Hub, planned drafts, overrides []propagation.Override) ([]pair, error) {
	var pairs []pair
	for _, t := range planned.templates {
		p, err := pairOf(ctx, h, t)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	if len(planned.overrides) == 0 {
		return pairs, nil
	}
	concerned := slices.Clone(planned.overrides)
	for _, o := range overrides { // what the override did before is reverted
		if slices.ContainsFunc(planned.overrides, func(p propagation.Override) bool { return p.Key == o.Key }) {
			concerned = append(concerned, o)
		}
	}
	bindings, err := h.Bindings(ctx)
	if err != nil {
		return nil, installed(err)
	}
	for _, b := range bindings {
		key := b.Template()
		if b.ActedHash() == "" || slices.ContainsFunc(pairs, func(p pair) bool { return p.after.Template.Key.ID() == key.ID() }) || !anyMay(concerned, key) {
			continue
		}
		s, err := subject(ctx, h, key)
		if errors.Is(err, outcome.ErrGone) {
			continue // it is being deleted
		}
		if err != nil {
			return nil, err
		}
		if s.Revision, err = inForce(ctx, h, s.Binding); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(concerned, func(o propagation.Override) bool { return rendering.Selects(o, s.Template.Key, s.Template.Labels) }) {
			pairs = append(pairs, pair{before: s, after: s})
		}
	}
	return pairs, nil
}

// anyMay reports whether some override may select an object of that name, whatever its
// labels.
func anyMay(overrides []propagation.Override, key propagation.TemplateKey) bool {
	return slices.ContainsFunc(overrides, func(o propagation.Override) bool {
		if o.Key.Scope == propagation.Namespaced && o.Key.Namespace != key.Namespace {
			return false
		}
		if len(o.Spec.ResourceSelectors) == 0 {
			return true
		}
		for _, s := range o.Spec.ResourceSelectors {
			if s.Kind == key.Kind && (s.Name == "" || s.Name == key.Name) && (s.Namespace == "" || s.Namespace == key.Namespace) {
				return true
			}
		}
		return false
	})
}

// pairOf returns a template as it is on the hub, and as it would be.
func pairOf(ctx context.Context, h *hub.Hub, planned *propagation.Template) (pair, error) {
	s, err := subject(ctx, h, planned.Key)
	if errors.Is(err, outcome.ErrGone) {
		s.Template = nil
		return pair{before: s, after: explaining.Subject{Template: planned, Binding: s.Binding}}, nil
	}
	if err != nil {
		return pair{}, err
	}
	if s.Revision, err = inForce(ctx, h, s.Binding); err != nil {
		return pair{}, err
	}
	after := s
	if planned.Itself().Hash != s.Template.Itself().Hash {
		// The dry run returns the object with the present version, which must not count
		// as proof that nobody wrote it.
		written := *planned
		written.ResourceVersion = ""
		planned = &written
	}
	after.Template = planned.KnownTo(s.Binding)
	return pair{before: s, after: after}, nil
}

// showRewrites shows which members would change, and how.
func (o *diffOptions) showRewrites(all []explaining.Rewrite, untouched int) {
	count := newTally()
	var last propagation.TemplateKey
	for _, r := range all {
		if r.Template != last {
			o.screen.Println(o.screen.Paint(screen.Bold, where(r.Template)))
			last = r.Template
		}
		count.add(r.Template.ID(), r)
		o.showRewrite("  ", r)
	}
	o.screen.Println(count.says("template changes in members", "templates change in members", untouched))
}

// tally counts templates, or placements, that are rewritten: those that change, and those
// that only cannot be rendered, and so change nothing.
type tally struct{ shown, changed map[string]bool }

func newTally() tally { return tally{map[string]bool{}, map[string]bool{}} }

// add counts the rewrite of the one of that name.
func (t tally) add(name string, r explaining.Rewrite) {
	t.shown[name] = true
	if r.What != explaining.Fails {
		t.changed[name] = true
	}
}

func (t tally) says(one, many string, untouched int) string {
	parts := []string{noun(len(t.changed), one, many)}
	if failed := len(t.shown) - len(t.changed); failed > 0 {
		parts = append(parts, noun(failed, "cannot be rendered", "cannot be rendered"))
	}
	return strings.Join(append(parts, noun(untouched, "other stays as it is", "others stay as they are")), "; ") + "."
}

// showRewrite shows which members would change, and how, indented by indent.
func (o *diffOptions) showRewrite(indent string, r explaining.Rewrite) {
	text := rewriteText(r)
	if r.Later {
		text += ", once what waits is let through"
	}
	if len(r.Held) > 0 {
		text += " (held back in " + strings.Join(r.Held, ", ") + ")"
	}
	o.screen.Println(indent + text)
	if r.Failure != "" {
		o.screen.Println(indent + "  " + o.screen.Paint(screen.Bad, r.Failure))
	}
	o.screen.Diff(indent+"  ", r.Diff)
}

func rewriteText(r explaining.Rewrite) string {
	members := strings.Join(r.Clusters, ", ")
	switch r.What {
	case explaining.Joins:
		return members + " would get it"
	case explaining.Leaves:
		return members + " would lose it"
	case explaining.Fails:
		return members + " would keep what it has, for it cannot be rendered"
	case explaining.Mended:
		return members + " could be rendered again"
	}
	return members + " would change"
}
