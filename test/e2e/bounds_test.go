// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"strings"
	"testing"
)

// However much there is to say of one thing, all else goes on.

// plain is an OverridePolicy that does one thing to the texts of a template on
// one member.
func (s *scenario) plain(name string, t template, operator, path, value, member string) thing {
	sel := map[string]any{"apiVersion": t.apiVersion(), "kind": t.kind, "name": t.name()}
	return newThing(overrides, s.ns, name).with("spec", map[string]any{
		"resourceSelectors": []any{sel},
		"overrideRules": []any{map[string]any{
			"targetCluster": named(member),
			"overriders":    map[string]any{"plaintext": []any{map[string]any{"path": path, "operator": operator, "value": value}}},
		}},
	})
}

func TestZ29LongMessage(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		_, nginx := s.spread()
		s.Apply(s.plain("bad", nginx, "replace", "/spec/"+strings.Repeat("x", 60000), "", "member1"))
		s.Expect(nginx).Binding(isCondition("Rendered", "False", "OverrideFailed", "member1: override", "bytes more"))
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, "member2", "member3").At(1, "member1")
	})
}

// A Secret's content is kept in a Secret, which may have no more than 1 MiB. What says so
// stays, however many sweeps go by.
func TestZ29TemplateTooLarge(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		secret := s.Secret("token")
		large := secret.set("data.large", base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 900<<10))))
		s.Apply(s.Policy("pp").Selecting(secret).toAll(), large)
		s.Expect(secret).Binding(isCondition("Active", "False", "TooLarge"))
		said := s.Expect(secret).binding().GetUID()
		for range 4 {
			s.Settle()
		}
		s.Expect(secret).Nowhere().Binding(isCondition("Active", "False", "TooLarge"))
		if now := s.Expect(secret).binding(); now == nil || now.GetUID() != said {
			s.Errorf("the binding that says so is another one now: %v", now)
		}
		s.Apply(secret)
		s.Expect(secret).In(members...).At(1, members...)
		s.Apply(large.At(2))
		s.Expect(secret).Binding(isCondition("Active", "False", "TooLarge"))
		s.Settle()
		s.Expect(secret).In(members...).At(1, members...)
	})
}

func TestZ29ManifestTooLarge(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		config := s.ConfigMap("config").set("data.large", strings.Repeat("x", 800<<10))
		s.Apply(s.Policy("pp").Selecting(config).toAll(), config)
		s.Expect(config).In(members...).At(1, members...)
		over := s.plain("over", config, "add", "/data/more", strings.Repeat("y", 700<<10), "member1")
		s.Apply(over)
		s.Expect(config).Binding(isCondition("Rendered", "False", "TooLarge", "member1: the manifest has"))
		s.Apply(config.At(2))
		s.Expect(config).At(2, "member2", "member3").At(1, "member1")
		s.Delete(over)
		s.Expect(config).At(2, members...).Binding(isCondition("Rendered", "True"))
	})
}
