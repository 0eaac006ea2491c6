// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

var (
	memberClusters = resource{group: "cluster.kubernetes-fleet.io", version: "v1", kind: "MemberCluster", plural: "memberclusters", clusterScoped: true}
)

// kindSelected is a selector of a placement.
func kindSelected(group, version, kind string) map[string]any {
	return map[string]any{"group": group, "version": version, "kind": kind}
}

// nowhere is a placement of ClusterRoles that nobody has, onto no member.
func (s *scenario) nowhere(selectors ...any) thing {
	if len(selectors) == 0 {
		selectors = []any{map[string]any{
			"group": roles.group, "version": "v1", "kind": "ClusterRole", "labelSelector": map[string]any{"matchLabels": map[string]any{scenarioLabel: "nobody-" + s.ns}},
		}}
	}
	return newThing(placements, "", s.unique("crp")).with("spec.resourceSelectors", selectors).
		with("spec.policy", map[string]any{"placementType": "PickN", "numberOfClusters": int64(0)})
}

func (s *scenario) refusesPlacement(p thing, words string) {
	s.Helper()
	if err := s.Rejects(p); !strings.Contains(err.Error(), words) {
		s.Errorf("rejected with %q, want it to say %q", err, words)
	}
}

func TestC6Selectors(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		both := kindSelected(roles.group, "v1", "ClusterRole")
		both["name"], both["labelSelector"] = "a", map[string]any{"matchLabels": map[string]any{"a": "b"}}
		s.refusesPlacement(s.nowhere().with("spec.resourceSelectors", []any{}), "at least 1")
		s.refusesPlacement(s.nowhere(both), "mutually exclusive")
		var many []any
		for i := range 101 {
			sel := kindSelected(roles.group, "v1", "ClusterRole")
			sel["name"] = fmt.Sprintf("nobody-%d", i)
			many = append(many, sel)
		}
		s.refusesPlacement(s.nowhere(many...), "at most 100")
		s.Apply(s.nowhere(many[:100]...))
	})
}

func TestC8NamespacedKindsAreRefused(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		s.refusesPlacement(s.nowhere(kindSelected("apps", "v1", "Deployment")), "Deployment has namespaces")
		s.Apply(s.nowhere())
		s.refusesPlacement(s.nowhere(kindSelected("", "v1", "ConfigMap")), "ConfigMap has namespaces")
	})
}

func TestC9UnknownKindsAreRefused(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		s.refusesPlacement(s.nowhere(kindSelected("example.org", "v1", "Widget")), "the hub serves no kind Widget of example.org/v1")
		s.refusesPlacement(s.nowhere(kindSelected("rbac.authorization.k8s.io", "v9", "ClusterRole")), "the hub serves no kind ClusterRole")
	})
}

func TestC58C60TolerationsAreOnlyAdded(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		one, two := map[string]any{"key": "a", "operator": "Exists"}, map[string]any{"key": "b", "value": "c"}
		s.Apply(s.nowhere().with("spec.policy.tolerations", []any{one}))
		s.Apply(s.nowhere().with("spec.policy.tolerations", []any{two, one}))
		s.refusesPlacement(s.nowhere().with("spec.policy.tolerations", []any{two}), "only additions to tolerations are allowed")
		s.refusesPlacement(s.nowhere(), "only additions to tolerations are allowed")
		s.refusesPlacement(s.nowhere().with("spec.policy.tolerations", []any{two, one, two}), "tolerations must be unique") // C60
	})
}

// TestC1EachMemberIsAMemberCluster, with one observation for both of its objects.
func TestC1EachMemberIsAMemberCluster(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		for _, m := range members {
			member := newThing(memberClusters, "", m)
			s.Eventually(func() error {
				live := s.Live(member)
				if live == nil {
					return fmt.Errorf("%s has no MemberCluster", m)
				}
				for _, c := range []string{"ReadyToJoin", "Joined", "Healthy"} {
					if text(conditionOf(live.Object, c), "status") != "True" {
						return fmt.Errorf("%s is not %s", m, c)
					}
				}
				usage, _ := at(live.Object, "status.resourceUsage.allocatable").(map[string]any)
				properties, _ := at(live.Object, "status.properties").(map[string]any)
				count, _ := properties["kubernetes-fleet.io/node-count"].(map[string]any)
				if usage["cpu"] == nil || usage["memory"] == nil || count["value"] == nil || count["value"] == "0" {
					return fmt.Errorf("%s: usage %v, nodes %v", m, usage, count)
				}
				if s.Live(newThing(namespaces, "", "fleet-member-"+m)) == nil {
					return fmt.Errorf("%s has no namespace for what it gets", m)
				}
				return nil
			})
		}
	})
}

// TestC1LabelsAreMirrored: what people say on a Cluster is said on its
// MemberCluster, unless they say something else there.
func TestC1LabelsAreMirrored(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		key := "e2e.sluice.dev/" + s.ns
		cluster, member := newThing(clusters, "", "member2"), newThing(memberClusters, "", "member2")
		label := func(value string) string { return `{"metadata":{"labels":{"` + key + `":` + value + `}}}` }
		defer func() {
			s.Patch(cluster, label("null"))
			s.Patch(member, label("null"))
		}()
		says := func(want string) func() error {
			return func() error {
				if got := s.Live(member).GetLabels()[key]; got != want {
					return fmt.Errorf("member2 is labelled %q, want %q", got, want)
				}
				return nil
			}
		}
		s.Patch(cluster, label(`"one"`))
		s.Eventually(says("one"))
		s.Patch(cluster, label(`"two"`))
		s.Eventually(says("two"))
		s.Patch(member, label(`"own"`))
		s.Patch(cluster, label(`null`))
		s.Eventually(says("own"))
	})
}
