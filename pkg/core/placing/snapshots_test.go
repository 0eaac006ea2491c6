// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placing_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
)

// sized is content of objects of these sizes.
func sized(seed byte, sizes ...int) placing.Content {
	var items []placing.Item
	for i, size := range sizes {
		items = append(items, placing.Item{Key: key("v1", "ConfigMap", "a", fmt.Sprint(i)), Raw: bytes.Repeat([]byte{seed}, size)})
	}
	return placing.NewContent(items)
}

// store is the snapshots of a hub.
type store struct {
	parts map[string]metav1.ObjectMeta
	uids  int
	now   time.Time
}

func (s *store) list() []placing.Part {
	var all []placing.Part
	for _, m := range s.parts {
		if p, ok := placing.PartOf(&m); ok {
			all = append(all, p)
		}
	}
	return all
}

func (s *store) next(c *placing.Content, seen, limit int) placing.Plan {
	return placing.Stored{Placement: "crp", Parts: s.list(), Seen: seen, Limit: limit, Now: s.now}.Next(c)
}

// steps are the writes of a plan, one each.
func (s *store) steps(p placing.Plan) []func() {
	var steps []func()
	for _, gone := range p.Drop {
		steps = append(steps, func() { delete(s.parts, gone.Name) })
	}
	for _, n := range p.Create {
		steps = append(steps, func() {
			if _, taken := s.parts[n.Name]; taken {
				panic(n.Name + " is taken")
			}
			s.uids++
			s.parts[n.Name] = metav1.ObjectMeta{Name: n.Name, UID: types.UID(fmt.Sprint(s.uids)), CreationTimestamp: metav1.NewTime(s.now), Labels: n.Labels, Annotations: n.Annotations}
		})
	}
	for _, r := range p.Relabel {
		steps = append(steps, func() {
			m := s.parts[r.Name]
			m.Labels["kubernetes-fleet.io/is-latest-snapshot"] = fmt.Sprint(r.Latest)
		})
	}
	for _, gone := range p.Prune {
		steps = append(steps, func() { delete(s.parts, gone.Name) })
	}
	return steps
}

// names are the snapshots, sorted, the latest marked.
func (s *store) names() []string {
	var names []string
	for _, p := range s.list() {
		name := p.Name
		if p.Latest {
			name += " latest"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestSnapshotsFollowTheContent(t *testing.T) {
	one, other, large := sized('a', 10), sized('b', 10), sized('c', 500<<10, 500<<10, 500<<10)
	for name, tc := range map[string]struct {
		contents []placing.Content
		limit    int
		want     []string
	}{
		"C17: the first has the index 0":       {[]placing.Content{one}, 10, []string{"crp-0-snapshot latest"}},
		"C21: a change makes another":          {[]placing.Content{one, other}, 10, []string{"crp-0-snapshot", "crp-1-snapshot latest"}},
		"C22: the same makes none":             {[]placing.Content{one, one}, 10, []string{"crp-0-snapshot latest"}},
		"C24: what was before makes another":   {[]placing.Content{one, other, one}, 10, []string{"crp-0-snapshot", "crp-1-snapshot", "crp-2-snapshot latest"}},
		"C23: what is large is split":          {[]placing.Content{large}, 10, []string{"crp-0-0 latest", "crp-0-1 latest", "crp-0-snapshot latest"}},
		"C25: old ones go":                     {[]placing.Content{one, large, one, other}, 2, []string{"crp-2-snapshot", "crp-3-snapshot latest"}},
		"C25: with a limit of 1 the latest is": {[]placing.Content{one, large}, 1, []string{"crp-1-0 latest", "crp-1-1 latest", "crp-1-snapshot latest"}},
		"content of nothing is content":        {[]placing.Content{one, sized('a')}, 10, []string{"crp-0-snapshot", "crp-1-snapshot latest"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &store{parts: map[string]metav1.ObjectMeta{}}
			for _, c := range tc.contents {
				for _, step := range s.steps(s.next(&c, -1, tc.limit)) {
					step()
				}
			}
			if d := cmp.Diff(tc.want, s.names()); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
			last := tc.contents[len(tc.contents)-1]
			if again := s.steps(s.next(&last, -1, tc.limit)); len(again) > 0 {
				t.Errorf("%d writes where nothing changed", len(again))
			}
		})
	}
}

func TestC20OnlyTheFirstPartSaysTheWhole(t *testing.T) {
	c := sized('a', 500<<10, 500<<10)
	p := (&store{}).next(&c, 3, 10)
	got := map[string]map[string]string{}
	for _, n := range p.Create {
		got[n.Name] = n.Annotations
		if n.Labels["kubernetes-fleet.io/parent-CRP"] != "crp" || n.Labels["kubernetes-fleet.io/resource-index"] != "4" {
			t.Errorf("C19: %s has the labels %v", n.Name, n.Labels)
		}
	}
	want := map[string]map[string]string{
		"crp-4-snapshot": {
			"kubernetes-fleet.io/resource-hash": c.Hash(), "kubernetes-fleet.io/number-of-resource-snapshots": "2", "kubernetes-fleet.io/number-of-enveloped-object": "0",
			placing.AnnotationAsked: "", placing.AnnotationObjects: "2",
		},
		"crp-4-0": {"kubernetes-fleet.io/subindex-of-resource-snapshot": "0", placing.AnnotationPartOf: c.Hash()},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if last := p.Create[len(p.Create)-1].Name; last != "crp-4-snapshot" {
		t.Errorf("%s is made last", last)
	}
}

// Whatever is interrupted, deleted by hand or labelled by hand: the next plan that
// is carried out has the content in the one latest snapshot; there was never none
// where there was one; and no name ever stood for two contents.
func TestSnapshotsSurviveAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &store{parts: map[string]metav1.ObjectMeta{}}
		contents := []placing.Content{sized('a', 10), sized('b', 10), sized('c', 500<<10, 500<<10, 500<<10), sized('d')}
		seen, named := -1, map[string]string{}
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			c := contents[rapid.IntRange(0, len(contents)-1).Draw(t, "content")]
			s.now = s.now.Add(2 * placing.UnfinishedFor)
			limit := rapid.IntRange(1, 4).Draw(t, "limit")
			names := slices.Sorted(func(yield func(string) bool) {
				for name := range s.parts {
					if !yield(name) {
						return
					}
				}
			})
			if len(names) > 0 && rapid.Bool().Draw(t, "meddle") {
				name := rapid.SampledFrom(names).Draw(t, "with")
				if rapid.Bool().Draw(t, "delete") {
					delete(s.parts, name)
				} else {
					s.parts[name].Labels["kubernetes-fleet.io/is-latest-snapshot"] = rapid.SampledFrom([]string{"true", "false", "?"}).Draw(t, "label")
				}
			}
			had := placing.Latest(s.list()) != nil
			p := s.next(&c, seen, limit)
			steps := s.steps(p)
			crash := rapid.IntRange(0, len(steps)).Draw(t, "crash after")
			for _, step := range steps[:crash] {
				step()
				if had && placing.Latest(s.list()) == nil {
					t.Fatal("there is no latest snapshot any more")
				}
			}
			for _, part := range s.list() {
				if part.Hash != "" {
					if before, known := named[part.Name]; known && before != part.Hash {
						t.Fatalf("%s stands for two contents", part.Name)
					}
					named[part.Name] = part.Hash
					seen = max(seen, part.Index)
				}
			}
			if crash < len(steps) {
				continue
			}
			latest := placing.Latest(s.list())
			if latest == nil || latest[0].Hash != c.Hash() || latest[0].Index != p.Index {
				t.Fatalf("the latest is %v", latest)
			}
			indexes := map[int]bool{}
			for _, part := range s.list() {
				indexes[part.Index] = true
				if part.Latest != (part.Index == p.Index) {
					t.Errorf("%s is the latest: %t", part.Name, part.Latest)
				}
			}
			if len(indexes) > limit {
				t.Errorf("%d snapshots are kept", len(indexes))
			}
			if again := s.steps(s.next(&c, seen, limit)); len(again) > 0 {
				t.Errorf("%d writes where nothing changed", len(again))
			}
		}
	})
}

// Two processes, or two events, may make a snapshot at the same moment. Of the same
// content they make one; of two contents the latest, when both are done, is whole, and
// of one of them.
func TestC23TwoAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &store{parts: map[string]metav1.ObjectMeta{}, now: time.Unix(1<<30, 0)}
		contents := []placing.Content{sized('a', 500<<10, 500<<10, 500<<10), sized('b', 500<<10, 500<<10, 500<<10)}
		wants := [2]placing.Content{contents[0], contents[rapid.IntRange(0, 1).Draw(t, "the other's content")]}
		same := wants[0].Hash() == wants[1].Hash()
		var steps [2][]func() bool
		for turn := 0; turn < 60; turn++ {
			i := rapid.IntRange(0, 1).Draw(t, "whose turn")
			switch {
			case len(steps[i]) == 0 && turn > 40:
			case len(steps[i]) == 0: // an event of its own, or a refused one that comes again
				steps[i] = s.tries(s.next(&wants[i], -1, 10))
			case steps[i][0]():
				steps[i] = steps[i][1:]
			default:
				steps[i] = nil
			}
		}
		for _, step := range append(steps[0], steps[1]...) {
			if !step() {
				break
			}
		}
		for _, step := range s.tries(s.next(&wants[0], -1, 10)) {
			step()
		}
		latest := placing.Latest(s.list())
		if latest == nil || latest[0].Hash != wants[0].Hash() || len(latest) != 3 {
			t.Fatalf("the latest is %v of %v", latest, s.names())
		}
		if got := s.names(); same && !slices.Equal(got, []string{"crp-0-0 latest", "crp-0-1 latest", "crp-0-snapshot latest"}) {
			t.Errorf("of one content there are %v", got)
		}
	})
}

// tries are the writes of a plan, as an API server answers them: false where another
// was quicker.
func (s *store) tries(p placing.Plan) []func() bool {
	var out []func() bool
	gone := func(part placing.Part) func() bool {
		return func() bool {
			if m, ok := s.parts[part.Name]; ok && m.UID != part.UID {
				return false
			}
			delete(s.parts, part.Name)
			return true
		}
	}
	for _, part := range p.Drop {
		out = append(out, gone(part))
	}
	for _, n := range p.Create {
		out = append(out, func() bool {
			if _, taken := s.parts[n.Name]; taken {
				return false
			}
			s.uids++
			s.parts[n.Name] = metav1.ObjectMeta{
				Name: n.Name, UID: types.UID(fmt.Sprint(s.uids)), CreationTimestamp: metav1.NewTime(s.now), Labels: n.Labels, Annotations: n.Annotations,
			}
			return true
		})
	}
	for _, r := range p.Relabel {
		out = append(out, func() bool {
			m, ok := s.parts[r.Name]
			if !ok || m.UID != r.UID {
				return false
			}
			m.Labels = maps.Clone(m.Labels)
			m.Labels["kubernetes-fleet.io/is-latest-snapshot"] = fmt.Sprint(r.Latest)
			s.parts[r.Name] = m
			return true
		})
	}
	for _, part := range p.Prune {
		out = append(out, gone(part))
	}
	return out
}

func TestPlacementsOf(t *testing.T) {
	for name, tc := range map[string]struct {
		snapshot string
		want     []string
	}{
		"a snapshot":                        {"shop-3-snapshot", []string{"shop"}},
		"a part, or a policy of another":    {"shop-3-0", []string{"shop-3", "shop"}},
		"a policy":                          {"shop-3", []string{"shop"}},
		"a placement that ends in a dash 1": {"crp-1-0-snapshot", []string{"crp-1"}},
		"nothing of ours":                   {"shop", nil},
		"a number alone":                    {"-3", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, placing.PlacementsOf(tc.snapshot)); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

// C25: what members have, and what the placement is rolled back to, is no history.
func TestC25WhatIsNeededIsKept(t *testing.T) {
	w := &store{parts: map[string]metav1.ObjectMeta{}}
	for _, c := range []placing.Content{sized('a', 10), sized('b', 10), sized('c', 10), sized('d', 10)} {
		for _, step := range w.steps(w.next(&c, -1, 10)) {
			step()
		}
	}
	p := &placementv1.ClusterResourcePlacement{}
	p.Name, p.Spec.RevisionHistoryLimit = "crp", new(int32(1))
	var all []*placementv1.ClusterResourceSnapshot
	for _, m := range w.parts {
		all = append(all, &placementv1.ClusterResourceSnapshot{ObjectMeta: m})
	}
	bound := &placementv1.ClusterResourceBinding{}
	bound.Spec.ResourceSnapshotName = "crp-1-snapshot"
	bindings := []*placementv1.ClusterResourceBinding{bound}
	p.Annotations = map[string]string{placing.AnnotationRollback: "0"}
	stored := placing.Stored{Placement: "crp", Parts: w.list(), Seen: -1, Limit: 1, Needed: placing.Needed(p, bindings)}
	var gone []string
	for _, part := range stored.Next(nil).Prune {
		gone = append(gone, part.Name)
	}
	if !slices.Equal(gone, []string{"crp-2-snapshot"}) || !placing.Excess(p, all, bindings) {
		t.Errorf("gone are %q, want that which nobody needs", gone)
	}
	p.Spec.RevisionHistoryLimit = new(int32(2)) // the latest, one of history, and what is needed
	if placing.Excess(p, all, bindings) {
		t.Error("there is nothing to prune")
	}
}

// A part of more objects than a Work has by now stays as long as nothing changes.
func TestC22C23AnEarlierPartIsNotSplit(t *testing.T) {
	c := sized('a', slices.Repeat([]int{10}, 701)...)
	meta := metav1.ObjectMeta{
		Name: "crp-0-snapshot", UID: "1",
		Labels:      map[string]string{"kubernetes-fleet.io/resource-index": "0", "kubernetes-fleet.io/is-latest-snapshot": "true"},
		Annotations: map[string]string{"kubernetes-fleet.io/resource-hash": c.Hash(), "kubernetes-fleet.io/number-of-resource-snapshots": "1"},
	}
	s := &store{parts: map[string]metav1.ObjectMeta{meta.Name: meta}}
	if n := len(s.steps(s.next(&c, 0, 10))); n > 0 {
		t.Errorf("%d writes where nothing changed", n)
	}
	c = sized('b', slices.Repeat([]int{10}, 701)...)
	var got []int
	for _, n := range s.next(&c, 0, 10).Create {
		got = append(got, len(n.Items))
	}
	if d := cmp.Diff([]int{201, 500}, got); d != "" { // the first is made last
		t.Errorf("the parts of another content: -want +got\n%s", d)
	}
}
