// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"testing"
)

// colours is the schema of a kind whose objects have a size and, if there is a
// default, a colour.
func colours(fallback string) map[string]any {
	colour := map[string]any{"type": "string"}
	if fallback != "" {
		colour["default"] = fallback
	}
	spec := map[string]any{"type": "object", "properties": map[string]any{"version": map[string]any{"type": "integer"}, "colour": colour}}
	return map[string]any{"type": "object", "properties": map[string]any{
		"spec": spec, "status": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
	}}
}

// A schema gives stored objects a default that they did not have: nobody has changed
// the template, and the Lazy policy goes on to wait.
func TestZ16NewDefaultsOpenNoGate(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		crd, widgets := s.definition("Widget")
		version := crd.body["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
		schema := version["schema"].(map[string]any)
		schema["openAPIV3Schema"] = colours("")
		s.define(crd, append([]string{"hub"}, members...)...)
		p, one := s.Policy("pp").Lazy(), template{newThing(widgets, s.ns, "one")}.At(1)
		p = p.Selecting(one)
		s.Apply(p, one)
		s.Expect(one).In("member1").At(1)
		s.Apply(p.To("member2"))
		s.Expect(one).Binding(isCondition("Active", "False"))
		s.Unchanged(func() {
			schema["openAPIV3Schema"] = colours("red")
			s.Apply(crd)
			s.Eventually(func() error {
				if got := text(s.Live(one).Object, "spec.colour"); got != "red" {
					return fmt.Errorf("the colour is %q", got)
				}
				return nil
			})
			s.PatchAs("somebody", one, `{"status":{"seen":"yes"}}`, "status")
			s.Expect(one).Template(func(t map[string]any) error {
				if text(t, "spec.colour") != "red" {
					return errors.New("nobody was told of the colour")
				}
				return nil
			})
			s.PatchAs("somebody", one, `{"metadata":{"labels":{"sluice.dev/seen":"yes"}}}`)
			s.PatchAs("another", one, `{"spec":{"colour":"red"}}`)
		})
		s.Expect(one).In("member1")
		s.Apply(one.At(2))
		s.Expect(one).In("member2").At(2)
	})
}
