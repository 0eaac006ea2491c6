// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sluice runs kubectl sluice, which must succeed, in the scenario's namespace.
func (s *scenario) sluice(args ...string) string {
	s.Helper()
	out, err := s.Sluice(args...)
	if err != nil {
		s.Fatalf("kubectl sluice %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// One template is held back, and the others of its policy are not; that is seen, and
// outlives its binding, a replacement of the template, and a restart with nothing in
// Redis.
func TestOneTemplateIsSuspended(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		one, two := s.ConfigMap("one"), s.ConfigMap("two")
		s.Apply(s.Policy("pp").Selecting(one, two).To(members...), one, two)
		s.Expect(one).At(1, members...)
		s.Expect(two).At(1, members...)
		s.sluice("suspend", "configmap/one", "-n", s.ns)
		if out := s.sluice("explain", "configmap/one", "-n", s.ns); !strings.Contains(out, "Suspended") || !strings.Contains(out, "by itself") {
			s.Errorf("explain does not say that it is suspended:\n%s", out)
		}
		s.Expect(one).Work(members[0], isCondition("Dispatching", "False"))
		s.Apply(one.At(2), two.At(2))
		s.Expect(two).At(2, members...)
		b := s.Expect(one).binding()
		if err := s.lab.hub.on(bindings, s.ns).Delete(s.Context(), b.GetName(), metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
		s.Apply(two.At(3))
		s.Expect(two).At(3, members...)
		s.Patch(one, `{"metadata":{"annotations":{"sluice.dev/suspended":null}}}`) // as a replacement would
		s.Flush()
		s.Restart()
		s.Settle()
		s.Expect(one).At(1, members...)
		s.sluice("resume", "configmap/one", "-n", s.ns)
		s.Expect(one).At(2, members...)
		if out := s.sluice("explain", "configmap/one", "-n", s.ns); strings.Contains(out, "by itself") {
			s.Errorf("explain says that it is suspended:\n%s", out)
		}
	})
}

// Held back in one member, the others get what changes.
func TestOneTemplateIsSuspendedInOneMember(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		one := s.ConfigMap("one")
		s.Apply(s.Policy("pp").Selecting(one).To(members...), one)
		s.Expect(one).At(1, members...)
		s.sluice("suspend", "configmap/one", "-n", s.ns, "--cluster", members[1])
		s.Apply(one.At(2))
		s.Expect(one).At(2, members[0], members[2]).At(1, members[1])
		s.Settle()
		s.Expect(one).At(1, members[1])
		s.sluice("resume", "configmap/one", "-n", s.ns, "--cluster", members[1])
		s.Expect(one).At(2, members...)
	})
}

// A template says again what a revision says, and keeps what is not its user's.
func TestATemplateIsRolledBack(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		one := s.ConfigMap("one")
		s.Apply(s.Policy("pp").Selecting(one).To(members...), one)
		s.Expect(one).At(1, members...)
		s.Apply(one.At(2))
		s.Expect(one).At(2, members...)
		if out, err := s.Sluice("rollback", "configmap/one", "-n", s.ns, "--to-revision", "9"); err == nil {
			s.Errorf("rolled back to a revision that there is not: %s", out)
		}
		s.sluice("rollback", "configmap/one", "-n", s.ns, "--to-revision", "1")
		s.Expect(one).At(1, members...).ClaimedBy(s.Policy("pp"))
	})
}
