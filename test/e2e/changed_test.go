// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A member's admission may change what it is asked for. It has the last word, and people
// read what it says.

var (
	mutations        = resource{group: "admissionregistration.k8s.io", version: "v1", kind: "MutatingAdmissionPolicy", plural: "mutatingadmissionpolicies", clusterScoped: true}
	mutationBindings = resource{group: "admissionregistration.k8s.io", version: "v1", kind: "MutatingAdmissionPolicyBinding", plural: "mutatingadmissionpolicybindings", clusterScoped: true}
)

// admits has a member give the scenario's Deployments that many replicas, whatever they
// ask for, until stop is called.
func (s *scenario) admits(member string, replicas int64) (stop func()) {
	s.Helper()
	name := s.unique("admits")
	rule := newThing(mutations, "", name).with("spec", map[string]any{
		"failurePolicy": "Fail", "reinvocationPolicy": "Never",
		"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
			"apiGroups": list("apps"), "apiVersions": list("v1"), "operations": list("CREATE", "UPDATE"), "resources": list("deployments"),
		}}},
		"mutations": []any{map[string]any{
			"patchType": "JSONPatch",
			"jsonPatch": map[string]any{"expression": fmt.Sprintf(`[JSONPatch{op: "add", path: "/spec/replicas", value: %d}]`, replicas)},
		}},
	})
	binding := newThing(mutationBindings, "", name).with("spec", map[string]any{
		"policyName":     name,
		"matchResources": map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": s.ns}}},
	})
	s.ApplyIn(member, rule, binding)
	stop = func() { s.forget(member, binding); s.forget(member, rule) }
	s.Cleanup(stop)
	s.admitted(member, replicas, true)
	return stop
}

// admitted waits until the member does so, or does so no more: its API server takes a
// moment to learn of a rule.
func (s *scenario) admitted(member string, replicas int64, is bool) {
	s.Helper()
	probe := s.Deployment("probe")
	s.ApplyIn(member, newThing(namespaces, "", s.ns))
	s.Eventually(func() error {
		defer s.forget(member, probe.thing)
		if err := s.apply(s.lab.clusters[member], probe.thing); err != nil {
			return err
		}
		live, err := s.lab.clusters[member].on(deployments, s.ns).Get(s.Context(), probe.name(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := number(live.Object, "spec.replicas"); (got == replicas) != is {
			return fmt.Errorf("it has %d replicas", got)
		}
		return nil
	})
}

// changedByAdmission asks whether the owner of the Works says so, in these words.
func changedByAdmission(words ...string) func(obj map[string]any) error {
	return func(obj map[string]any) error {
		if reason := text(conditionOf(obj, "FieldsContested"), "reason"); reason != "ChangedByAdmission" {
			return fmt.Errorf("the reason of FieldsContested is %q", reason)
		}
		return isCondition("FieldsContested", "True", words...)(obj)
	}
}

func TestFaultChangedByAdmission(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		stop := s.admits("member1", 2)
		p, nginx := s.Policy("pp").toAll(), s.Deployment("nginx")
		s.Apply(p, nginx)
		said := changedByAdmission("spec.replicas", nginx.key(), "member1")
		s.Expect(nginx).In(members...).At(1).Work("member1", said).Binding(said).Work("member2", contested(false))
		s.Expect(nginx).Work("member1", isCondition("Applied", "True", "admission")).Binding(isCondition("FullyApplied", "True"))
		s.Told(asThing(works, s.Expect(nginx).work("member1")), "Warning", "ChangedByAdmission", "spec.replicas")
		if out := s.must("explain", nginx.typed(), "-n", s.ns); !strings.Contains(out, "spec.replicas") {
			s.Errorf("explain does not say what is changed:\n%s", out)
		}
		s.Rest()
		written := len(s.specsOf(nginx, "member1"))
		s.Unchanged(func() {})
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, members...).Member("member1", hasReplicas(2)).Member("member2", hasReplicas(1)).Work("member1", said)
		s.Rest()
		if specs := s.specsOf(nginx, "member1"); written != 1 || len(specs) != 2 {
			s.Errorf("its spec was written %d times at first and %d times in all, want 1 and 2: %v", written, len(specs), specs)
		}
		stop()
		s.admitted("member1", 2, false)
		s.Apply(nginx.At(3))
		s.Expect(nginx).At(3, members...).Member("member1", hasReplicas(1)).Work("member1", contested(false)).Binding(contested(false))
		s.Expect(nginx).Work("member1", isCondition("Applied", "True", "the member has what the Work says"))
	})
}

// specsOf are the specs that the object had in the member, each time that it was another.
func (s *scenario) specsOf(o template, member string) (specs []string) {
	for _, c := range s.lab.clusters[member].mirror(o.resource).since(s.ns, 0) {
		if c.after == nil || keyOf(c.after) != o.key() {
			continue
		}
		if spec := asJSON(c.after.Object["spec"]); len(specs) == 0 || specs[len(specs)-1] != spec {
			specs = append(specs, spec)
		}
	}
	return specs
}
