// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package due

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/test/pipelinetest/fixture"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// gone is a hub without templates, so that each gate lets its binding through, and
// which notes what was asked for.
type gone struct {
	now      time.Time
	slow     time.Duration
	features propagation.Features
	asked    int
	told     []string
}

func (g *gone) Template(context.Context, propagation.TemplateKey) (*propagation.Template, error) {
	g.now = g.now.Add(g.slow)
	g.asked++
	return nil, outcome.ErrGone
}

func (g *gone) Policy(context.Context, propagation.PolicyKey) (*propagation.Policy, error) {
	return nil, outcome.ErrGone
}

func (g *gone) PolicyNow(context.Context, propagation.PolicyKey) (*propagation.Policy, error) {
	return nil, outcome.ErrGone
}

func (g *gone) Binding(context.Context, propagation.BindingKey) (*propagation.Binding, error) {
	return nil, outcome.ErrGone
}

func (g *gone) WorksOf(context.Context, propagation.BindingKey) ([]*propagation.Work, error) {
	return nil, nil
}

func (g *gone) Features(context.Context) (propagation.Features, error) { return g.features, nil }
func (g *gone) Kinds(context.Context, *propagation.Binding) (kinds.Table, error) {
	return kinds.Table{}, nil
}

func (g *gone) Policies(context.Context) ([]*propagation.Policy, error) { return nil, nil }

func (g *gone) Look(context.Context, propagation.TemplateKey) (claims.View, error) {
	return claims.View{}, nil
}

func (g *gone) RecordOnce(_ context.Context, about hub.About, _, _, reason, message string) {
	g.told = append(g.told, about.Namespace+"/"+about.Name+" "+reason+": "+message)
}

func (*gone) WentBack(context.Context, string) error { return nil }

// bindings are so many of a namespace, that wait at a gate or that nobody holds.
func bindings(namespace string, n int, waiting bool) (all []*propagation.Binding) {
	for i := range n {
		name := fmt.Sprintf("t%03d", i)
		b := &propagation.Binding{Key: propagation.BindingKey{Namespace: namespace, Name: name}}
		b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: name, UID: "u"}
		b.Annotations = map[string]string{propagation.AnnotationContentHash: "h"}
		if waiting {
			b.Status.Conditions = []metav1.Condition{{Type: gating.ConditionActive, Status: metav1.ConditionFalse}}
		}
		all = append(all, b)
	}
	return all
}

// sweep is one by a replica that has just started; it returns what it announces.
func (g *gone) sweep(t *testing.T, at fixture.Positions, all []*propagation.Binding, switched bool) (announced []string) {
	t.Helper()
	one := tick.New(event.New(), maps.Clone(at), g.now)
	if switched {
		Switched(one)
	}
	if err := New(g, g, func() time.Time { return g.now }).Sweep(t.Context(), one, page.All(all)); err != nil {
		t.Fatal(err)
	}
	if err := one.Save(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	out, err := one.Out.Events()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range out {
		announced = append(announced, e.Subject())
	}
	return announced
}

// Ten go with each sweep, by turns, whoever sweeps; and asking takes a second at most.
func TestWhatIsDueGoesAFewAtATime(t *testing.T) {
	for name, slow := range map[string]time.Duration{"gates that answer at once": 0, "gates that take their time": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			g, at := &gone{now: noon, slow: slow}, fixture.Positions{}
			all := append(bindings("shop", 100, true), bindings("bank", 1, true)...)
			seen, first := map[string]bool{}, 0
			for range 60 {
				began := g.now
				for _, about := range g.sweep(t, at, all, false) {
					seen[about] = true
				}
				if took := g.now.Sub(began); took > 2*(dueFor+slow) {
					t.Errorf("a sweep takes %s", took)
				}
				if first++; first == 1 && !seen["ConfigMap/bank/t000"] {
					t.Error("the one of another namespace waits for the crowd")
				}
			}
			if len(seen) != 101 {
				t.Errorf("%d of 101 had a turn", len(seen))
			}
		})
	}
}

// After a switch claims are looked at until nobody decides by the old gates any more,
// and then no longer, whichever replica sweeps; a new switch begins it anew.
func TestClaimsAreLookedAtUntilTheyConverge(t *testing.T) {
	g, at := &gone{now: noon}, fixture.Positions{}
	unheld := bindings("shop", 1, false)
	for _, tc := range []struct {
		sentence string
		after    time.Duration
		change   func()
		switched bool
		asks     bool
	}{
		{sentence: "who comes first does not know by which gates was decided", asks: true},
		{sentence: "others may still decide by the old ones", after: settling - time.Second, asks: true},
		{sentence: "this is the last look", after: time.Second, asks: true},
		{sentence: "nothing is found any more", after: time.Minute},
		{sentence: "a gate was switched while nobody looked", after: time.Minute, change: func() { g.features.Preemption = true }, asks: true},
		{sentence: "the last look after that", after: settling, asks: true},
		{sentence: "all has converged", after: time.Minute},
		{sentence: "somebody says so", after: time.Minute, switched: true, asks: true},
	} {
		if tc.change != nil {
			tc.change()
		}
		g.now, g.asked = g.now.Add(tc.after), 0
		g.sweep(t, at, unheld, tc.switched)
		if asks := g.asked > 0; asks != tc.asks {
			t.Errorf("%s: asked %t, want %t", tc.sentence, asks, tc.asks)
		}
	}
}

// Gates that are not there are told of once, by whoever sweeps first.
func TestZ12MissingGatesAreToldOfOnce(t *testing.T) {
	g, at := &gone{now: noon, features: propagation.Features{Static: true, Missing: true}}, fixture.Positions{}
	for range 3 {
		g.sweep(t, at, nil, false)
		g.now = g.now.Add(settling)
	}
	if len(g.told) != 1 || !strings.HasPrefix(g.told[0], "sluice-system/config-features GateNotUnderstood: ConfigMap sluice-system/config-features is missing") {
		t.Errorf("it told %q", g.told)
	}
}

// By pages each has its turn, too: a page stays until all that waits on it was asked about,
// and all bindings are listed for as long as claims may be of before a switch, and no longer.
func TestWhatIsDueIsFoundPageByPage(t *testing.T) {
	for name, slow := range map[string]time.Duration{"gates that answer at once": 0, "gates that take their time": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			g, at := &gone{now: noon, slow: slow}, fixture.Positions{}
			s := &fixture.BindingLister{All: append(bindings("shop", 100, true), bindings("bank", 1, true)...)}
			converged, err := json.Marshal(gates{Converged: true, Since: noon})
			if err != nil {
				t.Fatal(err)
			}
			at[position] = string(converged)
			seen := map[string]bool{}
			for range 60 {
				one, began := tick.New(event.New(), maps.Clone(at), g.now), g.now
				p, err := page.Open(t.Context(), one, s, 30)
				if err != nil {
					t.Fatal(err)
				}
				if err := New(g, g, func() time.Time { return g.now }).Sweep(t.Context(), one, p); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(p.Turn(one, Room), one.Save(t.Context(), at)); err != nil {
					t.Fatal(err)
				}
				if took := g.now.Sub(began); took > 2*(dueFor+slow) {
					t.Errorf("a sweep takes %s", took)
				}
				out, err := one.Out.Events()
				if err != nil || len(out) > pace {
					t.Fatalf("%d announced, %v", len(out), err)
				}
				for _, e := range out {
					seen[e.Subject()] = true
				}
			}
			if len(seen) != 101 || s.Lists != 0 {
				t.Errorf("%d of 101 had a turn, and all bindings were listed %d times", len(seen), s.Lists)
			}
			g.features.Preemption = true
			one := tick.New(event.New(), maps.Clone(at), g.now)
			p, err := page.Open(t.Context(), one, s, 30)
			if err != nil {
				t.Fatal(err)
			}
			if err := New(g, g, func() time.Time { return g.now }).Sweep(t.Context(), one, p); err != nil || s.Lists != 1 {
				t.Errorf("after a switch all were listed %d times: %v", s.Lists, err)
			}
		})
	}
}
