// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// A policy with a kind that the hub does not serve is explained, and its pending changes
// are released, as far as its other kinds go; what is not known is said.
func TestCommandsGoOnWithoutAKind(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		nginx := s.Deployment("nginx")
		absent := template{newThing(resource{group: "absent.example.com", version: "v1", kind: "Absent", plural: "absents"}, s.ns, "x")}
		p := s.Policy("pp").Selecting(nginx, absent).To("member1").Lazy()
		s.Apply(nginx, p)
		s.Touch(nginx)
		s.Expect(nginx).In("member1")
		s.Apply(p.To("member2"))
		const unknown = "cannot tell for Absent.absent.example.com: "
		s.Eventually(func() error {
			if out := s.must("explain", "pp/pp"); !strings.Contains(out, "1 pending") || !strings.Contains(out, unknown) {
				return fmt.Errorf("explain says\n%s", out)
			}
			return nil
		})
		for _, args := range [][]string{{"--dry-run"}, nil} {
			out, err := s.Sluice(append([]string{"activate", "--policy", "pp/pp"}, args...)...)
			if err == nil || !strings.Contains(out, unknown) || !strings.Contains(out, "leaves member1; joins member2") {
				s.Errorf("activate %v: %v\n%s", args, err, out)
			}
		}
		s.Expect(nginx).In("member2")
	})
}
