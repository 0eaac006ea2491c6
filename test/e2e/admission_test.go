// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

// What is said where a policy that pre-empts does not name what.
const nameIsEmpty = "name cannot be empty if preemption is Always, the empty name may cause unexpected resources preemption"

func (s *scenario) refuses(p policy, words string) {
	s.Helper()
	if err := s.Rejects(p); !strings.Contains(err.Error(), words) {
		s.Errorf("rejected with %q, want it to say %q", err, words)
	}
}

func TestP34NameNeeded(t *testing.T) {
	each(t, gatesOff, []form{pp}, func(s *scenario) {
		nginx := s.Template("nginx")
		s.refuses(s.Policy("pp").Always().SelectingKind(nginx), nameIsEmpty)
		s.refuses(s.Policy("pp").Always().SelectingLabel(nginx, "a", "b"), nameIsEmpty)
		s.Apply(s.Policy("pp").Always())
	})
}

func TestP35NamespaceAndNameNeeded(t *testing.T) {
	each(t, gatesOff, []form{cpp}, func(s *scenario) {
		nginx := s.Template("nginx")
		anywhere := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}
		s.refuses(s.Policy("p").Always().SelectingKind(nginx), nameIsEmpty)
		s.refuses(s.Policy("p").Always().set("spec.resourceSelectors", []any{anywhere}), "namespace")
		s.refuses(s.Policy("p").Always().set("spec.resourceSelectors", []any{
			map[string]any{"apiVersion": "example.org/v1", "kind": "NoSuchKind", "name": "nginx", "namespace": s.ns},
		}), "NoSuchKind")
		s.Apply(s.Policy("p").Always())
	})
}

func TestP36ClusterScopedNameNeeded(t *testing.T) {
	each(t, gatesOff, []form{cppcr}, func(s *scenario) {
		nginx := s.Template("nginx")
		s.refuses(s.Policy("p").Always().SelectingLabel(nginx, scenarioLabel, s.ns), nameIsEmpty)
		s.Apply(s.Policy("p").Always())
	})
}

func TestP37OneIsEnough(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p := s.Policy("p").Always()
		all := append(items(p.body, "spec.resourceSelectors"), items(p.SelectingLabel(s.ConfigMap("x"), "a", "b").body, "spec.resourceSelectors")...)
		var both []any
		for _, sel := range all {
			both = append(both, sel)
		}
		s.refuses(p.set("spec.resourceSelectors", both), nameIsEmpty)
	})
}

func TestP38NeverMayBeWide(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		s.Apply(s.Policy("p").SelectingLabel(s.Template("nginx"), "no", "such"), s.Policy("q").set("spec.preemption", "Never").SelectingLabel(s.Template("nginx"), "no", "such"))
	})
}

func TestP39NeverToAlways(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		wide := s.Policy("p").SelectingLabel(s.Template("nginx"), "no", "such")
		s.Apply(wide)
		s.refuses(wide.Always(), nameIsEmpty)
	})
}

func TestP40OwnNamespaceOnly(t *testing.T) {
	each(t, gatesOff, []form{pp}, func(s *scenario) {
		sel := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx"}
		s.refuses(s.Policy("p").set("spec.resourceSelectors", []any{sel}), "namespace")
	})
}

func TestP40SchedulerNameIsImmutable(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p := s.Policy("p").SelectingNothing()
		s.Apply(p)
		if got := text(s.Live(p).Object, "spec.schedulerName"); got != "default-scheduler" {
			s.Errorf("the default is %q", got)
		}
		s.refuses(p.set("spec.schedulerName", "other"), "schedulerName")
	})
}

func TestP40PermanentID(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p := s.Policy("p")
		s.Apply(p)
		key := ppID
		if s.clusterPolicy {
			key = cppID
		}
		id := s.Live(p).GetLabels()[key]
		if id == "" {
			s.Fatalf("the policy has no label %s", key)
		}
		s.refuses(policy{p.mark("labels", key, "forged"), s.ns}, key)
		s.Apply(p.To("member2"))
		if got := s.Live(p).GetLabels()[key]; got != id {
			s.Errorf("the permanent id was %q and is %q", id, got)
		}
		s.Delete(p)
		s.Apply(p)
		if got := s.Live(p).GetLabels()[key]; got == id || got == "" {
			s.Errorf("another policy of that name has the id %q, the old one had %q", got, id)
		}
	})
}

func TestP40Defaults(t *testing.T) {
	t.Parallel()
	t.Run("selector namespace", func(t *testing.T) {
		each(t, gatesOff, []form{pp}, func(s *scenario) {
			p := s.Policy("p")
			s.Apply(p)
			for _, sel := range items(s.Live(p).Object, "spec.resourceSelectors") {
				if sel["namespace"] != s.ns {
					s.Errorf("selector %s has not the policy's namespace", asJSON(sel))
				}
			}
		})
	})
	t.Run("spread constraints", func(t *testing.T) {
		each(t, gatesOff, inNamespaces, func(s *scenario) {
			p := s.Policy("p").set("spec.placement.spreadConstraints", []any{map[string]any{"maxGroups": int64(2)}})
			s.Apply(p)
			for _, c := range items(s.Live(p).Object, "spec.placement.spreadConstraints") {
				if c["spreadByField"] != "cluster" || number(c, "minGroups") != 1 {
					s.Errorf("spread constraint %s is without its defaults", asJSON(c))
				}
			}
		})
	})
	t.Run("dependencies of ServiceImport", func(t *testing.T) {
		each(t, gatesOff, []form{pp}, func(s *scenario) {
			sel := map[string]any{"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceImport", "name": "x"}
			p := s.Policy("p").set("spec.resourceSelectors", []any{sel})
			s.Apply(p)
			if !truth(s.Live(p).Object, "spec.propagateDeps") {
				s.Error("propagateDeps is not set")
			}
		})
	})
}
