// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// held leaves nginx in member1, held by a policy of that priority.
func (s *scenario) held(priority int64) (policy, template) {
	s.Helper()
	p, nginx := s.Policy("low").Priority(priority), s.Template("nginx")
	s.Apply(p, nginx)
	s.Expect(nginx).In("member1").ClaimedBy(p)
	return p, nginx
}

// The design's example.
func TestP10HigherPriority(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		low := s.Policy("nginx-propagation").Priority(2).To("member1", "member2")
		high := s.Policy("nginx-propagation-preemption").Priority(3).Always().To("member3")
		nginx := s.Template("nginx")
		s.Apply(low, nginx)
		s.Expect(nginx).In("member1", "member2").ClaimedBy(low)
		s.Apply(high)
		s.Expect(nginx).In("member3").ClaimedBy(high).Works("member3")
	})
}

func TestP11EqualPriority(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		nginx := s.Template("nginx").Label("app", "nginx")
		byLabel := s.Policy("propagation-labelselectormatch").SelectingLabel(nginx, "app", "nginx")
		s.Apply(byLabel, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(byLabel)
		s.Unchanged(func() { s.Apply(s.Policy("propagation-namematch").Always().To("member3")) })
		s.Expect(nginx).ClaimedBy(byLabel)
	})
}

func TestP12ImplicitPriorityNeverPreempts(t *testing.T) {
	each(t, preemption, inNamespaces, func(s *scenario) {
		nginx := s.Template("nginx")
		byKind := s.Policy("z").SelectingKind(nginx).Priority(4)
		s.Apply(byKind, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(byKind)
		s.Unchanged(func() { s.Apply(s.Policy("a").Priority(4).Always().To("member3")) })
		s.Expect(nginx).ClaimedBy(byKind)
	})
}

func TestP13LowerPriority(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		p, nginx := s.held(2)
		s.Unchanged(func() { s.Apply(s.Policy("lower").Priority(1).Always().To("member3")) })
		s.Expect(nginx).ClaimedBy(p)
	})
}

func TestP14ClusterPolicyOverClusterPolicy(t *testing.T) {
	each(t, preemption, clusterScopes, func(s *scenario) {
		_, nginx := s.held(0)
		high := s.Policy("high").Priority(1).Always().To("member2")
		s.Apply(high)
		s.Expect(nginx).In("member2").ClaimedBy(high)
	})
}

func TestP15NamespacedOverClusterPolicy(t *testing.T) {
	each(t, preemption, []form{cpp}, func(s *scenario) {
		_, nginx := s.held(100)
		high := s.NamespacedPolicy("pp").Priority(-10).Always().To("member2")
		s.Apply(high)
		s.Expect(nginx).In("member2").ClaimedBy(high)
	})
}

func TestP16NamespacedNeverTakesClusterScoped(t *testing.T) {
	each(t, preemption, []form{cppcr}, func(s *scenario) {
		p, nginx := s.held(0)
		pp := s.NamespacedPolicy("pp").Priority(9).Always().To("member2")
		s.Unchanged(func() { s.Apply(pp) })
		s.Expect(nginx).ClaimedBy(p)
		s.Eventually(func() error { return isCondition("KindsNamespaced", "False", "have no namespace")(s.Live(pp).Object) })
		s.explains("KindHasNoNamespace", "pp/pp")
	})
}

func TestP17ClusterPolicyNeverTakesFromNamespaced(t *testing.T) {
	each(t, preemption, []form{pp}, func(s *scenario) {
		p, nginx := s.held(-10)
		s.Unchanged(func() { s.Apply(s.ClusterPolicy("cpp").Priority(100).Always().To("member2")) })
		s.Expect(nginx).ClaimedBy(p)
	})
}

// High PP over low PP over high CPP over low CPP.
func TestP18TotalOrder(t *testing.T) {
	each(t, preemption, []form{pp}, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(nginx)
		for i, p := range []policy{
			s.ClusterPolicy("low").Priority(1).To("member1"), s.ClusterPolicy("high").Priority(5).To("member2"),
			s.NamespacedPolicy("low").Priority(-5).To("member3"), s.NamespacedPolicy("high").Priority(-1).To("member1", "member2"),
		} {
			s.Apply(p.Always())
			want := [][]string{{"member1"}, {"member2"}, {"member3"}, {"member1", "member2"}}[i]
			s.Expect(nginx).In(want...).ClaimedBy(p)
		}
	})
}

func TestP19NamespacedNever(t *testing.T) {
	each(t, preemption, []form{cpp}, func(s *scenario) {
		p, nginx := s.held(0)
		s.Unchanged(func() { s.Apply(s.NamespacedPolicy("pp").Priority(9).To("member2")) })
		s.Expect(nginx).ClaimedBy(p)
	})
}

// Of the old policy nothing is left: neither form of its labels.
func TestP20ClaimMovesWhole(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		low, nginx := s.held(0)
		takers := []policy{s.Policy("high").Priority(1).Always()}
		if s.clusterPolicy && !s.clusterTemplate {
			takers = append(takers, s.NamespacedPolicy("pp").Always())
		}
		holders := []map[string]string{claim(s.Live(nginx))}
		for _, p := range takers {
			s.Apply(p)
			s.Expect(nginx).ClaimedBy(p)
			holders = append(holders, claim(s.Live(nginx)))
		}
		b := s.Expect(nginx).binding()
		r := bindings
		if nginx.clusterScoped {
			r = clusterBindings
		}
		for m, of := range map[*mirror]string{s.lab.hub.mirror(nginx.resource): s.ns, s.lab.hub.mirror(r): scenarioOf(b)} {
			var seen []map[string]string
			for _, c := range m.since(of, 0) {
				if key := keyOf(c.after); key == nginx.key() || key == keyOf(b) {
					seen = append(seen, claim(c.after))
				}
			}
			seen = slices.CompactFunc(seen, maps.Equal)
			if len(seen) > 0 && len(seen[0]) == 0 {
				seen = seen[1:] // before anybody held it
			}
			if d := cmp.Diff(holders, seen); d != "" {
				s.Errorf("the holders one after another, as %s said (-want +got):\n%s", m.resource.kind, d)
			}
		}
		s.Delete(low)
		s.Expect(nginx).ClaimedBy(takers[len(takers)-1])
	})
}

func TestP21HolderIsGone(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		p, nginx := s.held(9)
		s.Delete(p)
		s.Expect(nginx).Unclaimed()
		lower := s.Policy("later").Priority(-1).To("member2")
		s.Apply(lower)
		s.Expect(nginx).In("member2").ClaimedBy(lower)
	})
}

func TestP22MatchesMore(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		_, nginx := s.held(0)
		other := s.Template("other")
		high := s.Policy("high").Priority(1).Always().To("member2")
		s.Apply(other, high.Selecting(other))
		s.Expect(other).In("member2")
		s.Expect(nginx).In("member1")
		s.Apply(high.Selecting(other, nginx))
		s.Expect(nginx).In("member2").ClaimedBy(high)
		s.Expect(other).In("member2").ClaimedBy(high)
	})
}

func TestP23PriorityRaised(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		p, nginx := s.held(5)
		high := s.Policy("high").Priority(4).Always().To("member2")
		s.Unchanged(func() { s.Apply(high) })
		s.Expect(nginx).ClaimedBy(p)
		s.Apply(high.Priority(6))
		s.Expect(nginx).In("member2").ClaimedBy(high)
	})
}

// Never becomes Always.
func TestP23PreemptionSwitchedOn(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		_, nginx := s.held(5)
		high := s.Policy("high").Priority(6).To("member2")
		s.Unchanged(func() { s.Apply(high) })
		s.Apply(high.Always())
		s.Expect(nginx).In("member2").ClaimedBy(high)
	})
}

// lowered: the holder falls from 5 to 3, and who takes over is in member2.
func lowered(t *testing.T, other int64, takes bool) {
	t.Helper()
	each(t, preemption, everyForm, func(s *scenario) {
		p, nginx := s.held(5)
		high := s.Policy("other").Priority(other).Always().To("member2")
		s.Unchanged(func() { s.Apply(high) })
		if takes {
			s.Apply(p.Priority(3))
			s.Expect(nginx).In("member2").ClaimedBy(high)
			return
		}
		s.Unchanged(func() { s.Apply(p.Priority(3)) })
		s.Expect(nginx).ClaimedBy(p)
	})
}

func TestP24Lowered(t *testing.T)    { lowered(t, 4, true) }
func TestP26ExactlyA(t *testing.T)   { lowered(t, 5, true) }
func TestP27ExactlyB(t *testing.T)   { lowered(t, 3, false) }
func TestP27BelowRange(t *testing.T) { lowered(t, 2, false) }

// The holder falls from 9 to 1: each policy between them takes what it names, that
// with 9 as well, that with 1 does not.
func TestP25WholeRange(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		priorities := []int64{1, 2, 5, 8, 9}
		low := s.Policy("low").Priority(9)
		var all []template
		for _, n := range priorities {
			all = append(all, s.Template(fmt.Sprintf("t%d", n)))
		}
		low = low.Selecting(all...)
		s.Apply(low)
		for _, x := range all {
			s.Apply(x)
			s.Expect(x).In("member1").ClaimedBy(low)
		}
		candidate := func(n int64) policy { return s.Policy(fmt.Sprintf("c%d", n)).Priority(n).Always().To("member2") }
		s.Unchanged(func() {
			for i, n := range priorities {
				s.Apply(candidate(n).Selecting(all[i]))
			}
		})
		s.Apply(low.Priority(1))
		for i, n := range priorities[1:] {
			s.Expect(all[i+1]).In("member2").ClaimedBy(candidate(n))
		}
		s.Settle()
		s.Expect(all[0]).In("member1").ClaimedBy(low).NeverIn("member2")
	})
}

// The holder falls from 9 to 1 and every policy between is entitled; the highest
// takes over, and no member sees another one.
func TestP28OnlyHighest(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		p, nginx := s.held(9)
		s.Unchanged(func() {
			for i := range int64(6) {
				s.Apply(s.Policy(fmt.Sprintf("c%d", i)).Priority(2 + i).Always().To("member3"))
			}
			s.Apply(s.Policy("c9").Priority(8).Always().To("member2"))
		})
		s.Apply(p.Priority(1))
		best := s.Policy("c9")
		s.Expect(nginx).In("member2").ClaimedBy(best)
		s.Settle()
		s.Expect(nginx).In("member2").ClaimedBy(best).NeverIn("member3")
	})
}

// The fall happens while nobody looks.
func TestP29WhileThePipelineIsAway(t *testing.T) {
	alone(t, preemption, everyForm, func(s *scenario) {
		p, nginx := s.held(5)
		high := s.Policy("high").Priority(4).Always().To("member2")
		s.Unchanged(func() { s.Apply(high) })
		s.whileAway(func() { s.Apply(p.Priority(3)) })
		s.Expect(nginx).In("member2").ClaimedBy(high)
	})
}

func TestP30PreemptorDeleted(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		p, nginx := s.held(0)
		high := s.Policy("high").Priority(1).Always().To("member2")
		s.Apply(high)
		s.Expect(nginx).In("member2").ClaimedBy(high)
		s.Delete(high)
		s.Expect(nginx).In("member1").ClaimedBy(p)
	})
}

func TestP31OthersUntouched(t *testing.T) {
	each(t, preemption, inNamespaces, func(s *scenario) {
		nginx, other := s.Template("nginx"), s.Template("other")
		low := s.Policy("low").SelectingKind(nginx)
		s.Apply(low, nginx, other)
		s.Expect(nginx).In("member1")
		s.Expect(other).In("member1").ClaimedBy(low)
		s.Rest()
		before := withoutStatus(s.Live(other))
		mark := s.mark()
		s.Apply(s.Policy("high").Priority(1).Always().To("member2"))
		s.Expect(nginx).In("member2")
		s.Settle()
		if d := cmp.Diff(before, withoutStatus(s.Live(other))); d != "" {
			s.Errorf("%s was written:\n%s", other, d)
		}
		for _, c := range s.writesSince(mark) {
			if o := c.after; o.GetName() == "other" || o.GetKind() == works.kind && manifestOf(o).GetName() == "other" {
				s.Errorf("a write that must not be: %s", c)
			}
		}
	})
}

// P41's counter is told by an event, too.
func TestP42Told(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		_, nginx := s.held(0)
		s.Apply(s.Policy("high").Priority(1).Always().To("member2"))
		s.Expect(nginx).In("member2")
		s.Told(nginx, "Normal", "PreemptPolicySucceed", "low", "high")
	})
}

// The lines of P43 are P10 (PP), P14 (CPP), P15 (both) and P3 (disabled).
func TestP43PreemptedThere(t *testing.T) {
	each(t, preemption, everyForm, func(s *scenario) {
		p, nginx := s.held(1)
		high := s.Policy("high").Priority(2).Always().To("member2")
		s.Apply(high)
		s.Expect(nginx).In("member2").ClaimedBy(high)
		s.Unchanged(func() { s.Apply(p.Priority(1).Always()) })
		s.Apply(p.Priority(3).Always())
		s.Expect(nginx).In("member1").ClaimedBy(p)
	})
}
