// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
	"sluice.dev/test/pipelinetest/fixture"
)

// pagedFleet is a large fleet whose bindings come by pages.
type pagedFleet struct {
	*large
	lists int
	// writes: all bindings are written between any two sweeps.
	writes bool
	wrote  int
}

func (s *pagedFleet) Bindings(context.Context) ([]*propagation.Binding, error) {
	s.lists++
	return s.bindings, nil
}

func (s *pagedFleet) ListBindings(_ context.Context, _ string, limit int64, cont string) ([]*propagation.Binding, string, error) {
	some, next := fixture.Page(s.bindings, limit, cont)
	return some, next, nil
}

func (s *pagedFleet) LinkedBindings(_ context.Context, namespace string) ([]*propagation.Binding, error) {
	return slices.DeleteFunc(slices.Clone(s.bindings), func(b *propagation.Binding) bool {
		return b.Key.Namespace != namespace || b.Labels[propagation.LabelLinked] == ""
	}), nil
}

func (s *pagedFleet) Binding(_ context.Context, key propagation.BindingKey) (*propagation.Binding, error) {
	for _, b := range s.bindings {
		if b.Key == key {
			if s.writes {
				s.wrote++
				live := *b
				live.ResourceVersion = fmt.Sprint("w", s.wrote)
				return &live, nil
			}
			return b, nil
		}
	}
	return nil, outcome.ErrGone
}

// sweep is one by a replica that has just started; it returns what it announces, each as
// "type name".
func (s *pagedFleet) sweep(t interface{ Fatal(args ...any) }, at map[string]string, size, atOnce int) map[string]bool {
	one := tick.New(event.New(), maps.Clone(at), noon)
	a := New(s, nil, func() time.Time { return noon }).Paging()
	a.atOnce = atOnce
	p, err := page.Open(context.Background(), one, s, size)
	if err != nil {
		t.Fatal(err)
	}
	books, err := a.Open(context.Background(), one, p, s.ready)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Sweep(context.Background(), one, books); err != nil {
		t.Fatal(err)
	}
	if err := p.Turn(one, Room); err != nil {
		t.Fatal(err)
	}
	if err := one.Save(context.Background(), fixture.Positions(at)); err != nil {
		t.Fatal(err)
	}
	out, err := one.Out.Events()
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, e := range out {
		d, err := events.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		told[e.Type()+" "+d.Template.Name+" "+d.Reason] = true
	}
	return told
}

// isWork tells whether it is of a Work that its member refused.
func isWork(what string) bool { return strings.HasPrefix(what, events.WorkRendered+" ") }

// named are so many names.
func named(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s%03d", prefix, i))
	}
	return names
}

// Whatever is wrong, and wherever, is announced within as many sweeps as there are pages
// times turns of members, twice over; and all bindings are never listed.
func TestByPagesNothingIsMissedInTheLongRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, works := rapid.IntRange(1, 4).Draw(t, "members"), rapid.IntRange(0, 12).Draw(t, "works")
		size, atOnce := rapid.IntRange(1, 9).Draw(t, "size"), rapid.SampledFrom([]int{1, 15, 1000}).Draw(t, "at once")
		s, at, want := &pagedFleet{large: fleetOf(members, works)}, map[string]string{}, map[string]bool{}
		for i, b := range s.bindings {
			if works := s.works[b.Spec.Clusters[0].Name]; !slices.ContainsFunc(works, func(w *propagation.Work) bool { return w.IsOf(b.Key) }) {
				want[events.TemplateTouched+" "+b.Key.Name+" Unrendered"] = true
			}
			switch what := rapid.IntRange(0, 5).Draw(t, "what"); what {
			case 0: // it follows one that is not there
				b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: "shop", Name: "gone"}}
				want[events.BindingScheduled+" "+b.Key.Name+" "+events.ReasonFollowsNobody] = true
			case 1, 2: // it follows one that says so, wherever that is, and may be cut off from members
				others := slices.Concat(s.bindings[(i+len(s.bindings)/2)%len(s.bindings):], s.bindings)
				parent := others[slices.IndexFunc(others, func(p *propagation.Binding) bool { return p.Spec.Clusters[0] == b.Spec.Clusters[0] })]
				follows := workv1alpha2.BindingSnapshot{Namespace: parent.Key.Namespace, Name: parent.Key.Name, Clusters: b.Spec.Clusters}
				if what == 2 {
					follows.Clusters = nil
					want[events.BindingScheduled+" "+parent.Key.Name+" DependencyRemoved"] = true
				}
				b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{follows}
				recorded := append(slices.Clone(dependencies.Recorded(parent)), b.Template())
				*parent = *dependencies.Record(parent, recorded)
				parent.Labels = map[string]string{propagation.LabelLinked: "true"}
			}
		}
		drop := map[propagation.BindingKey]bool{} // bindings that are gone, and whose Works are there
		for _, w := range s.works["m00"] {
			key := w.Binding()
			if followed := slices.ContainsFunc(s.bindings, func(b *propagation.Binding) bool { return len(b.Spec.RequiredBy) > 0 }); !followed && rapid.Bool().Draw(t, "gone") {
				drop[key] = true
				want[events.BindingRemoved+" "+key.Name+" BindingGone"] = true
			}
		}
		s.bindings = slices.DeleteFunc(s.bindings, func(b *propagation.Binding) bool { return drop[b.Key] })
		pages := len(s.bindings)/size + 1
		told, sweeps := map[string]bool{}, 2*pages*2*members+2
		for range sweeps {
			maps.Copy(told, s.sweep(t, at, size, atOnce))
		}
		for what := range want {
			if !told[what] {
				t.Fatalf("after %d sweeps nothing is told of: %s", sweeps, what)
			}
		}
		for what := range told {
			if !want[what] && !isWork(what) {
				t.Fatalf("told of, and nothing is wrong: %s", what)
			}
		}
		if s.lists > 0 {
			t.Fatalf("all bindings are listed %d times", s.lists)
		}
	})
}

// What the page says is not the last word: whoever wrote a binding since is at it.
func TestWhatWasWrittenSinceThePageWasListedIsNotAnnounced(t *testing.T) {
	s, at := &pagedFleet{large: fleetOf(1, 3), writes: true}, map[string]string{}
	for range 20 {
		for what := range s.sweep(t, at, 2, 1000) {
			if !isWork(what) {
				t.Errorf("told of %s", what)
			}
		}
	}
}

// seats is a hub with so many placements, of each a binding in each member, all of which
// lack their Works.
type seats struct {
	unasked
	names    []string
	clusters []string
	orphans  []*propagation.Work
	asked    int // in one sweep
}

func (s *seats) Placements(context.Context) (all []*placementv1.ClusterResourcePlacement, err error) {
	for _, name := range s.names {
		all = append(all, &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return all, nil
}

func (s *seats) PlacementBindingsOf(_ context.Context, placement string) (all []*placementv1.ClusterResourceBinding, err error) {
	for _, c := range s.clusters {
		b := &placementv1.ClusterResourceBinding{}
		b.Name, b.ResourceVersion, b.Labels = placement+"-"+c, "1", map[string]string{placementv1.LabelParentCRP: placement}
		b.Spec = placementv1.ResourceBindingSpec{State: placementv1.BindingStateBound, ResourceSnapshotName: placement + "-0-snapshot", TargetCluster: c}
		all = append(all, b)
	}
	s.asked += len(all)
	return all, nil
}

func (s *seats) WorksOfPlacement(context.Context, string) ([]*propagation.Work, error) {
	return nil, nil
}

func (s *seats) PlacementWorksOn(_ context.Context, cluster string) (on []*propagation.Work, err error) {
	for _, w := range s.orphans {
		if w.Key.Cluster == cluster {
			on = append(on, w)
		}
	}
	return on, nil
}

// Placements take turns: each seat that lacks its Work is told of, so are the Works of a
// placement that is gone, and no sweep asks for more than it may.
func TestPlacementsAreLookedAtByTurns(t *testing.T) {
	s := &seats{clusters: named("m", 9)}
	s.names = named("p", 230)
	s.orphans = []*propagation.Work{{
		Key: propagation.WorkKey{Cluster: "m004", Name: "gone-work", Form: propagation.PlacementForm}, Labels: map[string]string{placementv1.LabelParentCRP: "gone"},
	}}
	hub, at, seen := &pagedFleet{large: &large{ready: map[string]bool{}, works: map[string][]*propagation.Work{}}}, map[string]string{}, map[string]bool{}
	for _, c := range s.clusters {
		hub.ready[c] = true
	}
	turns := 230/placementsAtOnce + 1
	for range 2*turns + 1 {
		s.asked = 0
		one := tick.New(event.New(), maps.Clone(at), noon)
		a := New(hub, nil, func() time.Time { return noon }).Paging().Placing(s)
		books, err := a.Open(t.Context(), one, page.All(nil), hub.ready)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Sweep(t.Context(), one, books); err != nil {
			t.Fatal(err)
		}
		for _, e := range told(t, one, at) {
			d, err := events.Decode(e)
			if err != nil {
				t.Fatal(err)
			}
			if e.Type() == events.PlacementBound {
				seen[d.Placement+" "+d.Cluster] = true
			}
		}
		if s.asked > seatsAtOnce+9 {
			t.Errorf("a sweep asks for %d bindings", s.asked)
		}
	}
	if len(seen) != 230*9+1 || !seen["gone m004"] {
		t.Errorf("told of %d seats, want %d; of the one without a placement: %t", len(seen), 230*9+1, seen["gone m004"])
	}
}
