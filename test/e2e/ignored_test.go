// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"testing"
)

// ignores waits until an object names fields in its condition FieldsIgnored.
func (s *scenario) ignores(a applied, fields string) {
	s.Helper()
	s.Eventually(func() error { return isCondition("FieldsIgnored", "True", fields)(s.Live(a).Object) })
}

// lacksIgnored is a check for an object that does not say that it sets fields in vain.
func lacksIgnored(o map[string]any) error {
	if conditionOf(o, "FieldsIgnored") != nil {
		return errors.New("it says that fields are ignored")
	}
	return nil
}

// What a policy and somebody by hand, on a binding, set in vain is said on them and by
// explain: once, and not any more when it is taken back.
func TestFieldsIgnored(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		ref, of := nginx.resource.plural+"/"+nginx.name(), "pp/"
		if s.clusterPolicy {
			of = "cpp/"
		}
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1").Binding(isCondition("FullyApplied", "True")).Binding(lacksIgnored)

		s.Apply(p.set("spec.failover", map[string]any{"application": map[string]any{
			"decisionConditions": map[string]any{"tolerationSeconds": int64(60)}, "purgeMode": "Graciously",
		}}))
		b := s.bindingOf(nginx)
		s.Patch(b, `{"spec":{"rescheduleTriggeredAt":"2026-01-01T12:00:00Z","gracefulEvictionTasks":[{"fromCluster":"member3","reason":"ByHand","producer":"somebody"}]}}`)
		s.Touch(nginx) // its member reports
		s.ignores(p, "spec.failover")
		s.ignores(b, "spec.gracefulEvictionTasks")
		s.ignores(b, "spec.rescheduleTriggeredAt")
		s.explains("spec.failover", of+p.name())
		s.explains("of "+of+p.name()+", stored and not acted on yet: spec.failover", ref)
		s.explains("of the binding, stored and not acted on yet: spec.gracefulEvictionTasks", ref)
		s.Rest()
		policy, binding := s.Live(p).GetResourceVersion(), s.Live(b).GetResourceVersion()
		s.Settle()
		if s.Live(p).GetResourceVersion() != policy || s.Live(b).GetResourceVersion() != binding {
			s.Error("the same was written again")
		}

		s.Apply(p)
		s.Patch(b, `{"spec":{"rescheduleTriggeredAt":null,"gracefulEvictionTasks":null}}`)
		s.Touch(nginx)
		s.Eventually(func() error { return isCondition("FieldsIgnored", "False")(s.Live(p).Object) })
		s.Expect(nginx).Binding(lacksIgnored)
	})
}

// A Cluster in the mode Pull says that there is no such mode, and is served as before.
func TestFieldsIgnoredOfACluster(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		member, nginx := newThing(clusters, "", "member3"), s.Template("nginx")
		if c := s.Live(member); lacksIgnored(c.Object) != nil {
			s.Fatalf("%v", c.Object)
		}
		defer s.Patch(member, `{"spec":{"syncMode":"Push"}}`)
		s.Patch(member, `{"spec":{"syncMode":"Pull"}}`)
		s.ignores(member, "spec.syncMode Pull (the same as Push)")
		s.Apply(s.Policy("pp").To("member3"), nginx)
		s.Expect(nginx).In("member3")
		s.Rest()
		version := s.Live(member).GetResourceVersion()
		s.Settle()
		if s.Live(member).GetResourceVersion() != version {
			s.Error("the same was written again")
		}
		s.Patch(member, `{"spec":{"syncMode":"Push"}}`)
		s.Eventually(func() error { return lacksIgnored(s.Live(member).Object) })
	})
}
