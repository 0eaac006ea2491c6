// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// file writes things into a file, as people keep them.
func (s *scenario) file(things ...applied) string {
	s.Helper()
	path := filepath.Join(s.TempDir(), "objects.yaml")
	var docs []string
	for _, t := range things {
		docs = append(docs, asJSON(t.itself().body))
	}
	if err := os.WriteFile(path, []byte(strings.Join(docs, "\n---\n")), 0o600); err != nil {
		s.Fatal(err)
	}
	return path
}

// says fails unless a command line says all of these words.
func (s *scenario) says(out string, words ...string) {
	s.Helper()
	for _, w := range words {
		if !strings.Contains(out, w) {
			s.Errorf("no %q in\n%s", w, out)
		}
	}
}

// What render shows with an override that is not applied is what the member has once it
// is, and trying it changes nothing.
func TestRenderIsWhatTheMemberGets(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(s.Policy("pp").Selecting(nginx).To("member1", "member2"), nginx)
		s.Expect(nginx).In("member1", "member2")
		override := s.override("gold", nginx, "tier", "gold", "member2")
		args := []string{"render", "deployment/nginx", "--cluster"}
		s.Unchanged(func() {
			s.says(s.sluice(append(args, "member2", "--with", s.file(override))...), "tier: gold", "name: nginx", "replicas: 1")
			if out := s.sluice(append(args, "member1", "--with", s.file(override))...); strings.Contains(out, "tier: gold") {
				s.Errorf("member1 gets what is for member2:\n%s", out)
			}
			out, err := s.Sluice(append(args, "member3")...)
			if err == nil {
				s.Errorf("member3 gets it:\n%s", out)
			}
			s.says(out, "member3 gets nothing of deployment/nginx")
			bad := override.with("spec.overrideRule", "gold")
			if out, err = s.Sluice(append(args, "member1", "--with", s.file(bad))...); err == nil {
				s.Errorf("a field that is not there is taken:\n%s", out)
			}
			s.says(out, "spec.overrideRule")
		})
		s.Apply(override)
		s.Expect(nginx).Labelled("member2", "tier", "gold")
		s.says(s.sluice(append(args, "member2")...), "tier: gold")
	})
}

// diff says of a template and of an override what members would get, and that is what
// they get.
func TestDiffOfContentsIsWhatMembersGet(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		nginx, secret := s.Template("nginx"), s.Secret("password")
		s.Apply(s.Policy("pp").Selecting(nginx).To("member1", "member2"), s.Policy("qq").Selecting(secret).To("member1"), nginx, secret)
		s.Expect(nginx).At(1, "member1", "member2")
		s.Expect(secret).At(1, "member1")
		override := s.override("gold", nginx, "tier", "gold", "member2")
		s.Unchanged(func() {
			s.says(s.sluice("diff", "-f", s.file(nginx.At(2))), "member1, member2 would change", "-  revisionHistoryLimit: 1", "+  revisionHistoryLimit: 2")
			s.says(s.sluice("diff", "-f", s.file(override)), "member2 would change", "+    tier: gold", "1 template changes in members")
			s.says(s.sluice("diff", "-f", s.file(nginx)), "0 templates change in members; 1 other stays as it is.")
			s.says(s.sluice("diff", "-f", s.file(secret.At(2))), "member1 would change", "*** (before)", "*** (after)")
		})
		s.Apply(override, nginx.At(2))
		s.Expect(nginx).At(2, "member1", "member2").Labelled("member2", "tier", "gold")
		s.says(s.sluice("diff", "-f", s.file(override)), "0 templates change in members")
	})
}

// Who deleted a MemberCluster finds in explain why placements pass it by, and the
// command there brings it back.
func TestExplainSaysThatAMemberLeft(t *testing.T) {
	const note = "sluice.dev/left-placements"
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		p, member, cluster := s.Placement("left"), newThing(memberClusters, "", "member3"), newThing(clusters, "", "member3")
		s.Apply(p)
		back := `{"metadata":{"annotations":{"` + note + `":null}}}`
		s.Cleanup(func() { s.afterwards(cluster, back) })
		s.Delete(member)
		explain := func() string { return s.sluice("explain", "crp/"+p.name()) }
		s.says(explain(), "somebody deleted its MemberCluster at", "kubectl annotate cluster member3 "+note+"-")
		s.Patch(cluster, back)
		s.Eventually(func() error {
			if !s.has(member) {
				return errors.New("member3 has no MemberCluster")
			}
			return s.lab.joined(s.Context())
		})
		if out := explain(); strings.Contains(out, "deleted its MemberCluster") {
			s.Errorf("it came back, and explain says\n%s", out)
		}
	})
}
