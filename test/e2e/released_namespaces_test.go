// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"os"
	"testing"

	"sigs.k8s.io/yaml"
)

// With the policy of examples/namespaces a namespace is in all members before anything
// is in it, as its overrides say, unless it has the released label. Here the policy has
// an eye on the scenario's namespaces alone. No other test runs beside it, for the
// namespace controller holds back for a minute while kinds come and go.
func TestReleasedNamespaces(t *testing.T) {
	alone(t, gatesOff, []form{cppcr}, func(s *scenario) {
		p := s.example("../../examples/namespaces/policy.yaml")
		sel := items(p.body, "spec.resourceSelectors")[0]
		sel["labelSelector"].(map[string]any)["matchLabels"] = map[string]any{"carried-by": s.ns}
		p = thing{clusterPolicies, p.body}.with("metadata.name", s.unique("namespaces")).with("spec.resourceSelectors", []any{sel})
		room := func(name string) template {
			return template{newThing(namespaces, "", s.unique(name)).mark("labels", "carried-by", s.ns).mark("labels", scenarioLabel, s.ns)}
		}
		open, closed := room("open"), room("closed").Label("namespace.karmada.io/skip-auto-propagation", "true")
		s.Apply(p, s.override("over", open, "tier", "two", "member2"), open, closed)
		s.Expect(open).In(members...).Labelled("member1", "tier", "").Labelled("member2", "tier", "two")
		s.Settle()
		s.Expect(closed).Nowhere()
		s.Delete(open)
		s.Settle()
		s.Expect(open).In(members...)
	})
}

// example is the object in a file of the examples.
func (s *scenario) example(file string) thing {
	s.Helper()
	raw, err := os.ReadFile(file)
	if err == nil {
		raw, err = yaml.YAMLToJSON(raw)
	}
	var body map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	if err != nil {
		s.Fatal(err)
	}
	return thing{body: body}
}
