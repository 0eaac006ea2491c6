// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What is wrong is told where its owner looks, and hurts nobody else.

func TestFaultUnknownCluster(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").To("no-such-cluster"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).Binding(isCondition("Scheduled", "False", "NoClusterFit", "no-such-cluster")).Nowhere()
		s.Apply(p.To("member1", "no-such-cluster"))
		s.Expect(nginx).In("member1").Binding(isCondition("Scheduled", "True"))
	})
}

func TestFaultPlacementMatchesNone(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		affinity := map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"no": "such"}}}
		s.Apply(p.set("spec.placement", map[string]any{"clusterAffinity": affinity}), nginx)
		s.Expect(nginx).Binding(isCondition("Scheduled", "False", "NoClusterFit", "member1", "member2", "member3")).Nowhere()
	})
}

func TestFaultInvalidPolicy(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p := s.Policy("pp").SelectingNothing()
		for field, bad := range map[string]policy{
			"spec.resourceSelectors":            p.set("spec.resourceSelectors", []any{}),
			"spec.conflictResolution":           p.set("spec.conflictResolution", "Fight"),
			"spec.preemption":                   p.set("spec.preemption", "Perhaps"),
			"spec.activationPreference":         p.set("spec.activationPreference", "Eager"),
			"spec.placement.clusterAffinities":  p.set("spec.placement.clusterAffinities", []any{map[string]any{"affinityName": "a"}}),
			"spec.resourceSelectors[0].kind":    p.set("spec.resourceSelectors", []any{map[string]any{"apiVersion": "v1"}}),
			"spec.placement.clusterTolerations": p.set("spec.placement.clusterTolerations", []any{map[string]any{"key": "a", "operator": "Like"}}),
		} {
			s.refuses(bad, field)
		}
	})
}

// refuse lets a member refuse every ConfigMap of the scenario that is labelled
// "bad".
func (s *scenario) refuse(member, message string) thing {
	s.Helper()
	name := s.unique("refuse")
	rule := newThing(vaps, "", name).with("spec", map[string]any{
		"failurePolicy": "Fail",
		"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
			"apiGroups": list(""), "apiVersions": list("v1"), "operations": list("CREATE", "UPDATE"), "resources": list("configmaps"),
		}}},
		"validations": []any{map[string]any{
			"expression": "!(has(object.metadata.labels) && 'bad' in object.metadata.labels)", "message": message,
		}},
	})
	binding := newThing(vapBindings, "", name).with("spec", map[string]any{
		"policyName": name, "validationActions": list("Deny"),
		"matchResources": map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": s.ns}}},
	})
	s.ApplyIn(member, rule, binding)
	s.Cleanup(func() { s.forget(member, binding); s.forget(member, rule) })
	return binding
}

// refusing waits until the member does refuse: its API server takes a moment to
// learn of a rule.
func (s *scenario) refusing(member string) {
	s.Helper()
	probe := s.ConfigMap("probe").Label("bad", "true")
	s.Eventually(func() error {
		if err := s.apply(s.lab.clusters[member], newThing(namespaces, "", s.ns)); err != nil {
			return err
		}
		if err := s.apply(s.lab.clusters[member], probe.thing); err == nil {
			s.forget(member, probe.thing)
			return fmt.Errorf("%s does not refuse yet", member)
		}
		return nil
	})
}

func TestFaultRefusedByMember(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		rule := s.refuse("member2", "member2 wants no such thing")
		s.refusing("member2")
		config := s.ConfigMap("config").Label("bad", "true")
		s.Apply(s.Policy("pp").Selecting(config).toAll(), config)
		s.Expect(config).In("member1", "member3").Work("member2", isCondition("Applied", "False", "member2 wants no such thing")).
			Work("member1", isCondition("Applied", "True"))
		s.Expect(config).Binding(isCondition("FullyApplied", "False"))
		s.Apply(config.At(2))
		s.Expect(config).At(2, "member1", "member3")
		s.forget("member2", rule)
		s.Expect(config).In(members...).At(2, members...).Work("member2", isCondition("Applied", "True")).Binding(isCondition("FullyApplied", "True"))
	})
}

// The hub takes a Service that a member must refuse: its address is taken there.
func TestFaultInvalidInMember(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx := s.Deployment("nginx")
		bad := newThing(overrides, s.ns, "bad").with("spec.overrideRules", []any{map[string]any{
			"targetCluster": named("member2"),
			"overriders": map[string]any{"plaintext": []any{
				map[string]any{"path": "/spec/template/spec/containers/0/name", "operator": "replace", "value": "Not A Name"},
			}},
		}})
		s.Apply(bad)
		s.Settle()
		s.Apply(s.Policy("pp").toAll(), nginx)
		s.Expect(nginx).In("member1", "member3").Work("member2", isCondition("Applied", "False", "Not A Name"))
		s.Delete(bad)
		s.Expect(nginx).In(members...).Work("member2", isCondition("Applied", "True"))
	})
}

// What is in the member already, and is not ours, stays as it is.
func TestFaultNotOurs(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").To("member1", "member2"), s.Template("nginx")
		if !nginx.clusterScoped {
			s.ApplyIn("member2", newThing(namespaces, "", s.ns))
		}
		s.ApplyIn("member2", nginx.At(9).Label("owner", "somebody").thing)
		if nginx.clusterScoped {
			s.Cleanup(func() { s.forget("member2", nginx.thing) })
		}
		s.Expect(nginx).At(9, "member2")
		s.Apply(p, nginx)
		s.Expect(nginx).At(1, "member1").Work("member2", isCondition("Applied", "False", "ours"))
		s.Settle()
		s.Expect(nginx).At(9, "member2").Labelled("member2", "owner", "somebody")
		s.Apply(p.Overwriting())
		s.Expect(nginx).At(1, "member1", "member2").Work("member2", isCondition("Applied", "True"))
	})
}

// Its deletion on the hub is no reason to delete what is not ours.
func TestFaultNotOursAndDeleted(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").To("member1", "member2"), s.Template("nginx")
		if !nginx.clusterScoped {
			s.ApplyIn("member2", newThing(namespaces, "", s.ns))
		}
		s.ApplyIn("member2", nginx.At(9).thing)
		s.Cleanup(func() { s.forget("member2", nginx.thing) })
		s.Apply(p, nginx)
		s.Expect(nginx).At(1, "member1").Work("member2", isCondition("Applied", "False"))
		s.Delete(nginx)
		s.Expect(nginx).Works().In("member2").At(9, "member2")
	})
}

func TestFaultDrift(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Rest()
		s.ApplyIn("member2", nginx.At(9).thing)
		s.Expect(nginx).At(1, members...)
		s.Eventually(func() error {
			var had []string
			for _, c := range s.lab.clusters["member2"].mirror(nginx.resource).since(s.ns, 0) {
				had = append(had, contentOf(nginx.resource, c.after.Object))
			}
			if !strings.Contains(strings.Join(had, " "), "9") {
				return fmt.Errorf("the drift never was: %v", had)
			}
			return nil
		})
		s.Settle()
		s.Expect(nginx).At(1, members...)
	})
}

func TestFaultDeletedInMember(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Rest()
		was := s.LiveIn("member2", nginx).GetUID()
		s.DeleteIn("member2", nginx)
		s.Expect(nginx).In(members...).Member("member2", func(obj map[string]any) error {
			if (&unstructured.Unstructured{Object: obj}).GetUID() == was {
				return fmt.Errorf("it is still the old one")
			}
			return nil
		})
	})
}

func TestFaultTemplateDeleted(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Delete(nginx)
		s.Expect(nginx).Nowhere().NoBinding()
	})
}

func TestFaultPreserveOnDeletion(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp").To("member1", "member2").set("spec.preserveResourcesOnDeletion", true), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1", "member2")
		for _, m := range members {
			s.Cleanup(func() { s.forget(m, nginx.thing) })
		}
		s.Delete(nginx)
		s.Expect(nginx).Works().NoBinding()
		s.Settle()
		s.Expect(nginx).In("member1", "member2")
	})
}

// The policy's deletion takes nothing away, whatever it says.
func TestFaultPolicyDeleted(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Unchanged(func() {
			s.Delete(p)
			s.Expect(nginx).Unclaimed()
		})
		s.Expect(nginx).In(members...)
	})
}

// A namespace that is deleted on the hub leaves nothing behind.
// Alone, for the namespace controller holds back for a minute while kinds come
// and go.
func TestFaultNamespaceDeleted(t *testing.T) {
	alone(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx, config := s.Template("nginx"), s.ConfigMap("config")
		s.Apply(s.Policy("pp").Selecting(nginx, config).toAll(), nginx, config)
		s.Expect(nginx).In(members...)
		s.Expect(config).In(members...)
		if err := s.lab.hub.on(namespaces, "").Delete(s.Context(), s.ns, metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
		// The namespace controller empties it kind by kind, with pauses; it takes
		// its time when many namespaces go at once.
		if err := s.within(6*timeout, func() error {
			if s.Expect(nginx).template() != nil || s.Expect(config).template() != nil {
				return errors.New("the namespace controller has not emptied the namespace")
			}
			return nil
		}); err != nil {
			s.Fatal(err)
		}
		s.Expect(nginx).Nowhere().NoBinding()
		s.Expect(config).Nowhere().NoBinding()
	})
}

// Twenty-five policies, made and deleted at once, leave no stale claim.
func TestFaultPoliciesComeAndGo(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(nginx)
		for i := range 25 {
			p := s.Policy(fmt.Sprintf("p%d", i%5)).To(members[i%3])
			s.Apply(p)
			s.Delete(p)
		}
		last := s.Policy("last").To("member3")
		s.Apply(last)
		s.Expect(nginx).In("member3").ClaimedBy(last)
	})
}

// Made anew at once under its name, a policy is another one.
func TestFaultPolicyMadeAnew(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p)
		s.Delete(p)
		s.Apply(p.To("member2"))
		s.Expect(nginx).In("member2").ClaimedBy(p)
	})
}

// Who takes the claim off, or forges one, sees it put right.
func TestFaultForgedClaim(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1").ClaimedBy(p)
		for _, key := range []string{ppID, cppID} {
			for _, v := range []string{"null", "\"forged\""} {
				s.Unchanged(func() {
					s.Patch(nginx, fmt.Sprintf("{\"metadata\":{\"labels\":{\"%s\":%s}}}", key, v))
					s.Expect(nginx).ClaimedBy(p)
				})
			}
		}
	})
}

func TestFaultHundredSelectors(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		var all []template
		for i := range 99 {
			all = append(all, s.Template(fmt.Sprintf("no-such-%d", i)))
		}
		nginx := s.Template("nginx")
		s.Apply(nginx, s.Policy("pp").Selecting(append(all, nginx)...))
		s.Expect(nginx).In("member1").ClaimedBy(s.Policy("pp"))
	})
}

// A member that is away holds up nobody, and gets everything when it is back.
func TestFaultMemberAway(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx, late, gone := s.Policy("pp").toAll(), s.Template("nginx"), s.Template("late"), s.Template("gone")
		s.Apply(p.Selecting(nginx, late, gone), nginx, gone)
		s.Expect(nginx).In(members...)
		s.Expect(gone).In(members...)
		s.Stop("member2")
		started := time.Now()
		s.Apply(nginx.At(2), late)
		s.Delete(gone)
		s.Expect(nginx).At(2, "member1", "member3")
		s.Expect(late).At(1, "member1", "member3")
		if d := time.Since(started); d > 5*time.Second {
			s.Errorf("the others had to wait %s", d)
		}
		s.Expect(nginx).Work("member2", isCondition("Applied", "False"))
		away := newThing(clusters, "", "member2")
		s.Expect(away).Template(isCondition("Ready", "False", "NotReachable"))
		since, err := time.Parse(time.RFC3339, text(conditionOf(s.Live(away).Object, "Ready"), "lastTransitionTime"))
		if err != nil || since.Before(started.Add(-5*time.Second)) {
			s.Errorf("the condition tells of %s, member2 went at %s", since, started)
		}
		s.Start("member2")
		s.Expect(away).Template(isCondition("Ready", "True"))
		s.Expect(nginx).At(2, members...).Work("member2", isCondition("Applied", "True"))
		s.Expect(late).In(members...)
		s.Expect(gone).Nowhere()
	})
}
