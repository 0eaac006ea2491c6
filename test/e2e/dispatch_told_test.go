// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

const (
	heldMessage       = "Work dispatching is in a suspended state."
	dispatchedMessage = "Work is being dispatched to member clusters."
)

func TestS30ConditionSuspended(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(s.Policy("pp").Suspended(), nginx)
		s.Expect(nginx).Work("member1", isCondition("Dispatching", "False", "SuspendDispatching: "+heldMessage)).Work("member1", func(w map[string]any) error {
			c := conditionOf(w, "Dispatching")
			since, err := time.Parse(time.RFC3339, text(c, "lastTransitionTime"))
			if err != nil || since.Before(s.start.Add(-time.Minute)) {
				return fmt.Errorf("lastTransitionTime is %q", text(c, "lastTransitionTime"))
			}
			if g := number(c, "observedGeneration"); g != number(w, "metadata.generation") || g == 0 {
				return fmt.Errorf("observedGeneration is %d", g)
			}
			return nil
		})
	})
}

func TestS31ConditionResumed(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(p.Suspended(), nginx)
		s.Expect(nginx).Work("member1", isCondition("Dispatching", "False"))
		s.Apply(p)
		s.Expect(nginx).Work("member1", isCondition("Dispatching", "True", "Dispatching: "+dispatchedMessage)).In("member1")
	})
}

func TestS32Events(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(p.Suspended(), nginx)
		s.Expect(nginx).Works("member1")
		w := s.Expect(nginx).work("member1")
		work := newThing(works, w.GetNamespace(), w.GetName())
		s.Told(work, "Normal", "WorkDispatching", heldMessage)
		s.Apply(p)
		s.Told(work, "Normal", "WorkDispatching", dispatchedMessage)
	})
}

// S33: of all Works that this run has seen.
func TestS33NoInstruction(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Apply(p.Suspended())
		s.Expect(nginx).Work("member1", isSuspended)
		s.Apply(p.Resumed())
		s.Expect(nginx).Work("member1", isNotSuspended)
		m := s.lab.hub.mirror(works)
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, writes := range m.history {
			for _, c := range writes {
				if _, ok := c.after.GetAnnotations()["propagation.karmada.io/instruction"]; ok {
					s.Errorf("Work %s has the annotation", keyOf(c.after))
				}
			}
		}
	})
}

// S34: at rest nobody writes a condition, and its time stays with its status.
func TestS34ConditionNotRewritten(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").Suspended(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).Work("member1", isCondition("Dispatching", "False"))
		since := text(conditionOf(s.Expect(nginx).work("member1").Object, "Dispatching"), "lastTransitionTime")
		s.Unchanged(func() { pause(s.Context(), sweep) })
		s.Apply(nginx.At(2))
		s.Expect(nginx).Work("member1", hasContent(nginx.resource, 2))
		s.Settle()
		if got := text(conditionOf(s.Expect(nginx).work("member1").Object, "Dispatching"), "lastTransitionTime"); got != since {
			s.Errorf("lastTransitionTime was %s and is %s, and nothing changed", since, got)
		}
		s.Unchanged(func() {})
	})
}

// The tests that the design names, at the level of namespaces and of clusters.

func TestS36Suspend(t *testing.T) {
	suspends(t, policy.Suspended, members...)
}

func TestS37Resume(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").toAll(), s.Template("nginx")
		s.Apply(p.Suspended(), nginx)
		s.Expect(nginx).Works(members...)
		s.Settle()
		s.Expect(nginx).In()
		s.Apply(p.Resumed())
		s.Expect(nginx).In(members...).At(1)
	})
}

func TestS38ClusterLevel(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").toAll(), s.Template("nginx")
		s.Apply(p.SuspendedOn("member1"), nginx)
		s.Expect(nginx).In("member2", "member3").Works(members...)
		s.Apply(p.SuspendedOn("member2"))
		s.Expect(nginx).In(members...)
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, "member1", "member3")
		s.still(nginx, 1, "member2")
	})
}

// S39: S36 to S38 run for PropagationPolicy with ResourceBinding, and for
// ClusterPropagationPolicy with both kinds of bindings; here is which.
func TestS39Levels(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(s.Policy("pp").Suspended(), nginx)
		want := bindings.kind
		if nginx.clusterScoped {
			want = clusterBindings.kind
		}
		s.Expect(nginx).Binding(func(b map[string]any) error {
			if b["kind"] != want || !truth(b, "spec.suspension.dispatching") {
				return errors.New("it is a " + text(b, "kind") + " with suspension " + asJSON(at(b, "spec.suspension")))
			}
			return nil
		})
	})
}

// Lazy and suspension: at once, and at once lifted.
func TestY2LazyAndSuspended(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").toAll().Lazy(), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In(members...)
		s.Apply(p.SuspendedOn("member2"))
		s.Expect(nginx).Work("member2", isSuspended).Work("member1", isNotSuspended)
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, "member1", "member3")
		s.still(nginx, 1, "member2")
		s.Apply(p.Suspended().To("member3"))
		s.Expect(nginx).Work("member1", isSuspended)
		s.Apply(p.Resumed().To("member3"))
		s.Expect(nginx).At(2, "member2").Work("member1", isNotSuspended)
		s.Settle()
		s.Expect(nginx).In(members...)
	})
}

// Suspension and dependencies: what follows a suspended Deployment is held, too.
func TestY5DependenciesAreHeld(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		config, nginx := s.ConfigMap("config"), s.Deployment("nginx").Using("config")
		p := s.Policy("pp").Selecting(nginx).WithDependencies().toAll()
		s.Apply(p, config, nginx)
		s.Expect(config).In(members...)
		s.Apply(p.SuspendedOn("member2"))
		s.Expect(nginx).Work("member2", isSuspended)
		s.Expect(config).Work("member2", isSuspended).Work("member1", isNotSuspended)
		s.Apply(config.At(2))
		s.Expect(config).At(2, "member1", "member3").Work("member2", hasContent(configMaps, 2))
		s.still(config, 1, "member2")
		s.Apply(p.Resumed())
		s.Expect(config).At(2, "member2")
	})
}
