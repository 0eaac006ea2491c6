// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// One file with everything in it: what was there before its policy says that it
// waits.
func TestL47SaysThatItWaits(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(nginx)
		s.Settle()
		s.Apply(s.Policy("pp").Lazy())
		s.Told(nginx, "Normal", "WaitingForTemplateChange", "pp", "changes")
	})
}

// What only people know to belong together is changed by people.
func TestL48LogicalDependency(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx, config := s.Deployment("nginx"), s.ConfigMap("config")
		p := s.Policy("pp").Selecting(nginx, config).Lazy().WithDependencies()
		s.Apply(p, nginx, config)
		s.Expect(nginx).In("member1")
		s.Expect(config).In("member1")
		s.Apply(p.To("member2"))
		s.Touch(nginx)
		s.Expect(nginx).In("member2")
		s.Settle()
		s.Expect(config).In("member1")
		s.Touch(config)
		s.Expect(config).In("member2")
	})
}

// No restart, re-list, redelivery or loss of Redis activates a pending change.
func TestL49RestartAndFlush(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		nginx, late := s.pending(), s.Template("late")
		s.Apply(late)
		s.Settle()
		s.Apply(s.Policy("late").Selecting(late).Lazy())
		s.Expect(late).ClaimedBy(s.Policy("late"))
		s.Unchanged(s.Restart)
		s.Unchanged(s.Flush)
		s.Unchanged(func() { s.Flush(); s.Restart() })
		s.Expect(nginx).In("member1")
		s.Expect(late).Nowhere()
		s.Touch(nginx)
		s.Touch(late)
		s.Expect(nginx).In("member2")
		s.Expect(late).In("member1")
	})
}

// Only the last state of the policy counts, restarts or not.
func TestL50LastPolicyCounts(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.pending()
		s.Unchanged(s.Restart)
		s.Unchanged(func() { s.Apply(s.Policy("pp").Lazy().To("member3")) })
		s.Unchanged(s.Flush)
		s.Apply(nginx.At(2))
		s.Expect(nginx).In("member3").At(2).NeverIn("member2")
	})
}

// An old change of the user's that is delivered once more after a change of the
// policy activates nothing.
func TestL51OldChangeOnceMore(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, "member1")
		s.Apply(nginx.At(3))
		s.Expect(nginx).At(3, "member1")
		s.Apply(p.To("member2"))
		s.Unchanged(s.Restart)
		s.Unchanged(func() { s.Flush(); s.Restart() })
		s.Expect(nginx).In("member1").At(3)
	})
}

func TestL52ThereAndBack(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Unchanged(func() {
			s.Apply(p.To("member2"))
			s.Apply(p)
		})
		s.Rest()
		mark := s.mark()
		s.Touch(nginx)
		s.Expect(nginx).Labelled("member1", "refresh-time", fmt.Sprint(s.refreshes.Load()))
		s.Settle()
		for _, c := range s.writesSince(mark) {
			if c.kind != watch.Modified {
				s.Errorf("the user's label needs no such write: %s", c)
			}
		}
		s.Expect(nginx).In("member1").NeverIn("member2")
	})
}

// Its policy goes before there is a binding.
func TestL53DeletedBeforeBinding(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(nginx)
		s.Settle()
		s.Apply(p)
		s.Expect(nginx).ClaimedBy(p)
		s.Unchanged(func() {
			s.Delete(p)
			s.Expect(nginx).Unclaimed()
		})
		s.Expect(nginx).Nowhere()
	})
}

// A new template under an old name has no history.
func TestL54TemplateMadeAnew(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.pending()
		s.Delete(nginx)
		s.Expect(nginx).Nowhere().NoBinding()
		s.Apply(nginx.At(2))
		s.Expect(nginx).In("member2").At(2)
	})
}

func TestL54TemplateMadeAnewAtOnce(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.pending()
		s.Delete(nginx)
		s.Apply(nginx.At(2))
		s.Expect(nginx).In("member2").At(2)
	})
}

func TestL54RestartInTheMiddle(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.pending()
		s.Restart()
		s.Delete(nginx)
		s.Restart()
		s.Expect(nginx).Nowhere().NoBinding()
		s.Flush()
		s.Apply(nginx.At(2))
		s.Expect(nginx).In("member2").At(2)
	})
}

// Both at once: either may win, and what is active is what it says it is.
func TestL55SameInstant(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		want := ""
		for i := range 6 {
			want = members[(i+1)%2]
			var both sync.WaitGroup
			both.Go(func() { s.Apply(p.To(want)) })
			both.Go(func() { s.Touch(nginx) })
			both.Wait()
		}
		s.Settle()
		s.Expect(nginx).Binding(func(b map[string]any) error {
			names, in := at(b, "spec.placement.clusterAffinity.clusterNames"), s.Expect(nginx).where()
			if asJSON(names) != asJSON(in) {
				return fmt.Errorf("it says %s and the object is in %v", asJSON(names), in)
			}
			return nil
		})
		s.Touch(nginx)
		s.Expect(nginx).In(want)
	})
}

// One write of the user's that changes the template and gives it to a Lazy policy
// which was there before: the change is the one that the policy waits for.
func TestL55AChangeThatTakesTheTemplateOver(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx").Label("colour", "blue")
		blue := s.Policy("pp1").SelectingLabel(nginx, "colour", "blue")
		red := s.Policy("pp2").SelectingLabel(nginx, "colour", "red").To("member2").Lazy()
		s.Apply(blue, red, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(blue)
		s.canary() // red has been heard of
		s.Apply(nginx.Label("colour", "red").At(2))
		s.Expect(nginx).In("member2").At(2).ClaimedBy(red)
		s.Unchanged(func() { s.Apply(red.To("member1")) })
	})
}

// So it is where the first policy was Lazy, too, and had nothing to propagate yet.
func TestL55AFirstChangeThatTakesTheTemplateOver(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx").Label("tint", "blue")
		red := s.Policy("pp2").SelectingLabel(nginx, "tint", "red").To("member2").Lazy()
		blue := s.Policy("pp1").SelectingLabel(nginx, "tint", "blue").Lazy()
		s.Apply(nginx)
		s.Apply(red, blue)
		s.Expect(nginx).ClaimedBy(blue).Nowhere()
		s.canary() // red has been heard of
		s.Apply(nginx.Label("tint", "red").At(2))
		s.Expect(nginx).In("member2").At(2).ClaimedBy(red).NeverIn("member1")
	})
}

// The binding tells which generation is active and which one waits.
func TestL56ActiveAndPending(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1").Binding(isCondition("Active", "True", "generation 1"))
		s.Apply(p.To("member2"))
		s.Expect(nginx).Binding(isCondition("Active", "False", "WaitingForTemplateChange", "generation 1", "generation 2", "pp"))
		s.Touch(nginx)
		s.Expect(nginx).In("member2").Binding(isCondition("Active", "True", "generation 2")).Binding(func(b map[string]any) error {
			if c := conditionOf(b, "Active"); strings.Contains(text(c, "message"), "generation 1") {
				return fmt.Errorf("it still tells of generation 1: %s", text(c, "message"))
			}
			return nil
		})
	})
}
