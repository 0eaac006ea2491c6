// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestZ34AWorkOfAnotherBinding(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		nginx := s.Deployment("nginx")
		s.Apply(s.Policy("pp").Selecting(nginx).To("member2"), nginx)
		s.Expect(nginx).In("member2").Works("member2")
		name := s.Expect(nginx).work("member2").GetName()
		others := newThing(works, "karmada-es-member1", name).
			with("metadata.annotations", map[string]any{
				"resourcebinding.karmada.io/namespace": s.ns, "resourcebinding.karmada.io/name": "another-deployment", "sluice.dev/binding-uid": "9",
			}).
			with("spec.workload.manifests", []any{s.Deployment("another").body})
		s.Apply(others)
		before := s.Live(others)

		s.Apply(s.Policy("pp").Selecting(nginx).To("member1", "member2"))
		s.Expect(nginx).Binding(isCondition("Rendered", "False", "WorkNameTaken", "another-deployment"))
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, "member2").In("member2")
		if after := s.Live(others); after == nil || after.GetUID() != before.GetUID() || after.GetResourceVersion() != before.GetResourceVersion() {
			s.Errorf("the Work of another binding is %v, was %v", after, before)
		}

		on := s.lab.hub.on(works, "karmada-es-member1")
		if err := on.Delete(s.Context(), name, metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
		s.Expect(nginx).At(2, "member1", "member2") // nothing else changed
		s.Apply(nginx.At(3))
		s.Expect(nginx).At(3, "member1", "member2")
		s.Expect(nginx).Binding(isCondition("Rendered", "True", "Rendered"))
	})
}
