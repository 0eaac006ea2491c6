// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/test/redistest"
)

// These tests let policies and templates change at once, as the detector answers
// them. However that interleaves, when all is quiet each template is held by a
// policy that selects it, and none waits that a policy selects.

var (
	somePolicies  = []string{"shop/a", "shop/b", "x"}
	someTemplates = []string{"Deployment shop/n", "Deployment shop/m", "Namespace n"}
	someSelectors = []string{"Deployment", "Deployment n", "Deployment app=1", "Deployment app=2", "Namespace n", "Namespace app=1"}
	someLabels    = []string{"app=1", "app=2"}
)

// A change of the hub: of a policy, which is gone where it selects nothing, or of
// a template, which is gone where it has no label.
type change struct {
	Policy    string
	Selectors []string
	Template  string
	Label     string
}

// work is what one worker does, one after the other.
func work(ctx context.Context, w *world, changes []change) {
	for _, c := range changes {
		pause(ctx)
		if c.Policy != "" {
			w.changePolicy(c.Policy, c.Selectors)
			w.announce(ctx, c.Policy)
		} else {
			w.changeTemplate(c.Template, c.Label)
			w.touch(ctx, c.Template)
		}
	}
}

// touch is what the detector does about one template: keep its policy while that
// selects it, else take the first that does, else wait.
func (w *world) touch(ctx context.Context, name string) {
	key := template(name)
	for {
		v, err := w.m.Look(ctx, key)
		if err != nil {
			w.fail(err)
			return
		}
		label := w.template(ctx, name)
		switch by := w.chosen(ctx, v, key, label); {
		case label == "":
			err = w.m.Drop(ctx, key)
			if err == nil && w.template(ctx, name) != "" {
				continue // made anew meanwhile
			}
		case by != nil:
			err = w.m.Record(ctx, key, by.Claim(), propagation.Sighting{}, v.Revision)
		default:
			err = w.m.Park(ctx, key, labelled(label), propagation.Sighting{}, v.Revision)
		}
		if outcome.IsConflict(err) {
			continue
		}
		w.fail(err)
		return
	}
}

func (w *world) chosen(ctx context.Context, v claims.View, key propagation.TemplateKey, label string) *propagation.Policy {
	var best *propagation.Policy
	for _, c := range v.Candidates {
		p := w.policy(ctx, c.Policy)
		if p == nil || !selects(p)(key, labelled(label)) {
			continue
		}
		if v.Holder.By(p) {
			return p
		}
		if best == nil || p.Key.ID() < best.Key.ID() {
			best = p
		}
	}
	return best
}

// announce is what the detector does about one policy: index it, and touch what
// it holds and what waits for it.
func (w *world) announce(ctx context.Context, name string) {
	key := policyKey(name)
	p := w.policy(ctx, key)
	if p == nil {
		w.fail(w.m.RemovePolicy(ctx, key))
		p = w.policy(ctx, key) // made anew meanwhile?
	}
	if p != nil {
		_, _, err := w.m.IndexPolicy(ctx, p, claims.SelectorsOf(p))
		w.fail(err)
		w.touchPages(ctx, func(cursor string) ([]propagation.TemplateKey, string, error) {
			return w.m.Waiting(ctx, claims.SelectorsOf(p), selects(p), cursor, 1)
		})
	}
	w.touchPages(ctx, func(cursor string) ([]propagation.TemplateKey, string, error) { return w.m.Held(ctx, key, cursor, 1) })
}

func (w *world) touchPages(ctx context.Context, page func(cursor string) ([]propagation.TemplateKey, string, error)) {
	for cursor := ""; ; {
		found, next, err := page(cursor)
		w.fail(err)
		for _, k := range found {
			w.touch(ctx, k.String())
		}
		if cursor = next; cursor == "" {
			return
		}
	}
}

// TestNoOrderMisses tries orders of single requests, one by one, and shrinks one
// that fails.
func TestNoOrderMisses(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		rdb.AddHook(pausing{})
		for range map[string]int{"unix": 10, "tcp": 1}[s.Network] { // the embedded one is slow; more by -rapid.checks
			rapid.Check(t, func(rt *rapid.T) {
				w := newWorld(fresh(t, rdb), rt)
				workers := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(drawChange), 1, 3), 2, 4).Draw(rt, "changes")
				interleave(rt, len(workers), func(ctx context.Context, i int) { work(ctx, w, workers[i]) })
				w.checkQuiet(t.Context())
			})
		}
	})
}

func drawChange(rt *rapid.T) change {
	if rapid.Bool().Draw(rt, "policy") {
		return change{
			Policy:    rapid.SampledFrom(somePolicies).Draw(rt, "name"),
			Selectors: rapid.SliceOfN(rapid.SampledFrom(someSelectors), 0, 2).Draw(rt, "selectors"),
		}
	}
	return change{
		Template: rapid.SampledFrom(someTemplates).Draw(rt, "name"),
		Label:    rapid.SampledFrom(append(someLabels, "")).Draw(rt, "label"),
	}
}

// TestNothingIsMissedAtFullSpeed lets the workers run, for the race detector.
func TestNothingIsMissedAtFullSpeed(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		for range map[string]int{"unix": 20, "tcp": 4}[s.Network] {
			w := newWorld(fresh(t, rdb), t)
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() { work(t.Context(), w, someChanges(6)) })
			}
			wg.Wait()
			w.checkQuiet(t.Context())
		}
	})
}

func someChanges(n int) []change {
	pick := func(from []string) string { return from[rand.IntN(len(from))] }
	var changes []change
	for range n {
		if rand.IntN(2) == 0 {
			changes = append(changes, change{Template: pick(someTemplates), Label: pick(append(someLabels, ""))})
			continue
		}
		c := change{Policy: pick(somePolicies)}
		for range rand.IntN(3) {
			c.Selectors = append(c.Selectors, pick(someSelectors))
		}
		changes = append(changes, c)
	}
	return changes
}
