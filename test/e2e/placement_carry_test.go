// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// atOnce is a rollout that waits for nothing.
var atOnce = map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{
	"maxUnavailable": "100%", "maxSurge": "100%", "unavailablePeriodSeconds": int64(1),
}}

// everywhere is a placement of the scenario's namespace in all members.
func (s *scenario) everywhere() thing { return s.picker(nil).with("spec.strategy", atOnce) }

// conditionsOf are the conditions of a status as "type reason status", those of a
// placement without its kind.
func conditionsOf(status map[string]any) []string {
	var out []string
	for _, c := range items(status, "conditions") {
		out = append(out, strings.TrimPrefix(text(c, "type"), placements.kind)+" "+text(c, "reason")+" "+text(c, "status"))
	}
	return out
}

// Says waits until the placement's conditions are these, and returns its status.
func (s *scenario) Says(p thing, want ...string) map[string]any {
	s.Helper()
	var status map[string]any
	s.Eventually(func() error {
		o := s.Live(p)
		if o == nil {
			return fmt.Errorf("%s is not there", p)
		}
		status, _ = o.Object["status"].(map[string]any)
		if got := conditionsOf(status); !slices.Equal(got, want) {
			return fmt.Errorf("%s says %q, want %q", p, got, want)
		}
		for _, c := range items(status, "conditions") {
			if c["observedGeneration"] != o.GetGeneration() {
				return fmt.Errorf("%s: %s is of generation %v, want %d", p, text(c, "type"), c["observedGeneration"], o.GetGeneration())
			}
		}
		return nil
	})
	return status
}

// carried is what a placement says that has come to its end.
var carried = []string{
	"Scheduled SchedulingPolicyFulfilled True", "RolloutStarted RolloutStarted True", "Overridden NoOverrideSpecified True",
	"WorkSynchronized WorkSynchronized True", "Applied ApplySucceeded True", "Available ResourceAvailable True",
}

// carriedOverridden is what it says where overrides change what it carries.
var carriedOverridden = slices.Concat(carried[:2], []string{"Overridden OverriddenSucceeded True"}, carried[3:])

// holds waits until a ConfigMap has that value at the key in the members.
func (s *scenario) holds(cm template, key, value string, in ...string) {
	s.Helper()
	for _, m := range in {
		s.Expect(cm).Member(m, func(o map[string]any) error {
			if got := text(o, "data."+key); got != value {
				return fmt.Errorf("%s is %q, want %q", key, got, value)
			}
			return nil
		})
	}
}

func TestC13C46C50C72C73C76C77C78C81C83C85APlacementIsCarried(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "hello")
		p := s.everywhere()
		s.Apply(cm, p)
		status := s.Says(p, carried...)
		s.holds(cm, "page", "hello", members...)
		if got := text(status, "observedResourceIndex"); got != "0" {
			s.Errorf("observedResourceIndex is %q, want 0", got)
		}
		var selected []string
		for _, r := range items(status, "selectedResources") {
			selected = append(selected, text(r, "kind")+" "+text(r, "namespace")+"/"+text(r, "name"))
		}
		if want := []string{"Namespace /" + s.ns, "ConfigMap " + s.ns + "/" + cm.name()}; !slices.Equal(selected, want) {
			s.Errorf("selectedResources %q, want %q", selected, want)
		}
		for _, m := range items(status, "placementStatuses") {
			want := []string{"Scheduled Scheduled True", "RolloutStarted RolloutStarted True", "Overridden NoOverrideSpecified True", "WorkSynchronized AllWorkSynced True", "Applied AllWorkHaveBeenApplied True", "Available AllWorkAreAvailable True"}
			if got := conditionsOf(m); !slices.Equal(got, want) {
				s.Errorf("%s says %q, want %q", text(m, "clusterName"), got, want)
			}
		}
		s.PatchIn(members[0], cm, `{"data":{"page":"changed here"}}`)
		s.holds(cm, "page", "hello", members[0])
	})
}

func TestC74C75Y9WhatAnotherHoldsIsNotFoughtOver(t *testing.T) {
	once(t, gatesOff, func(s *scenario) {
		cm := s.ConfigMap("pages").set("data.page", "hello")
		s.Apply(cm, s.NamespacedPolicy("first").Selecting(cm).To(members...))
		s.holds(cm, "page", "hello", members...)
		p := s.everywhere()
		s.Apply(p)
		status := s.Says(p, append(slices.Clone(carried[:4]), "Applied ApplyFailed False")...)
		for _, m := range items(status, "placementStatuses") {
			failed := items(m, "failedPlacements")
			if len(failed) != 1 || text(failed[0], "name") != cm.name() || text(failed[0], "condition.reason") != "ApplyConflictBetweenPlacements" {
				s.Errorf("failed in %s: %v", text(m, "clusterName"), failed)
			}
		}
		s.Expect(cm).Binding(isCondition("Contested", "True", "the placement "+p.name()))
		if out := s.must("explain", "configmap/"+cm.name(), "-n", s.ns); !strings.Contains(out, "is wanted by the placement "+p.name()) {
			s.Errorf("explain does not say who else wants it:\n%s", out)
		}
		s.Unchanged(func() { s.Touch(p) })
		s.Delete(p)
		s.holds(cm, "page", "hello", members...)
		s.Expect(cm).Binding(func(b map[string]any) error {
			if conditionOf(b, "Contested") != nil {
				return fmt.Errorf("it says yet that it is contested: %s", asJSON(b["status"]))
			}
			return nil
		})
	})
}
