// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

// typed is what people type for an object: propagationpolicies/nginx.
func (t thing) typed() string { return t.resource.plural + "/" + t.name() }

// must is what a command says that has to succeed.
func (s *scenario) must(args ...string) string {
	s.Helper()
	out, err := s.Sluice(args...)
	if err != nil {
		s.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// said are the revisions of a policy, the newest first; the present one has a star.
func (s *scenario) said(p policy) string {
	s.Helper()
	var all []string
	for i, line := range strings.Split(strings.TrimSpace(s.must("history", p.typed())), "\n") {
		fields := strings.Fields(line)
		if i == 0 || len(fields) < 3 {
			continue
		}
		if fields[len(fields)-1] == "yes" {
			fields[0] += "*"
		}
		all = append(all, fields[0])
	}
	return strings.Join(all, " ")
}

// A policy that is rolled back acts as one that was edited: what it held moves back.
func TestAPolicyIsRolledBack(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").To("member1", "member2"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1", "member2")
		if got := s.said(p); got != "1*" {
			s.Errorf("kept %s, want 1*", got)
		}
		s.Apply(p.To("member3"))
		s.Expect(nginx).In("member3")
		if got := s.said(p); got != "2* 1" {
			s.Errorf("kept %s, want 2* 1", got)
		}
		if out := s.must("rollback", p.typed(), "--to-revision", "1"); !strings.Contains(out, "member3") || !strings.Contains(out, "says again what revision 1 says") {
			s.Errorf("rollback says\n%s", out)
		}
		s.Expect(nginx).ClaimedBy(p).In("member1", "member2")
		if got := s.said(p); got != "2 1*" {
			s.Errorf("kept %s, want 2 1*", got)
		}
		if out, err := s.Sluice("rollback", p.typed(), "--to-revision", "7"); err == nil {
			s.Errorf("rolled back to what nobody said: %s", out)
		}
	})
}

// Under Lazy a policy that is rolled back waits for its templates, as one that was
// edited.
func TestL5ALazyPolicyIsRolledBack(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.pending()
		p := s.Policy("pp").Lazy()
		s.Touch(nginx)
		s.Expect(nginx).In("member2")
		s.Unchanged(func() { s.must("rollback", p.typed(), "--to-revision", "1") })
		s.Expect(nginx).In("member2")
		s.Touch(nginx)
		s.Expect(nginx).In("member1")
	})
}
