// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func isSuspended(w map[string]any) error {
	if !truth(w, "spec.suspendDispatching") {
		return errors.New("spec.suspendDispatching is not true")
	}
	return nil
}

func isNotSuspended(w map[string]any) error {
	if truth(w, "spec.suspendDispatching") {
		return errors.New("spec.suspendDispatching is true")
	}
	return nil
}

// toAll places on all members.
func (p policy) toAll() policy { return p.To(members...) }

func suspension(v map[string]any) func(p policy) policy {
	return func(p policy) policy { return p.set("spec.suspension", v) }
}

func named(clusters ...string) map[string]any {
	return map[string]any{"clusterNames": list(clusters...)}
}

func TestS1NoDefault(t *testing.T) { noSuspensionByDefault(t, []form{pp}) }
func TestS2NoDefault(t *testing.T) { noSuspensionByDefault(t, clusterScopes) }

func noSuspensionByDefault(t *testing.T, forms []form) {
	t.Helper()
	each(t, gatesOff, forms, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(p, nginx)
		if v := at(s.Live(p).Object, "spec.suspension"); v != nil {
			s.Errorf("spec.suspension is %s, want none", asJSON(v))
		}
		s.Expect(nginx).In("member1").Work("member1", isNotSuspended)
	})
}

// suspends is that with this suspension exactly these members are held back.
func suspends(t *testing.T, suspend func(p policy) policy, held ...string) {
	t.Helper()
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(suspend(s.Policy("pp").toAll()))
		s.Apply(nginx)
		var want []string
		for _, m := range members {
			if strings.Contains(strings.Join(held, " "), m) {
				s.Expect(nginx).Work(m, isSuspended)
				continue
			}
			want = append(want, m)
			s.Expect(nginx).Work(m, isNotSuspended)
		}
		s.Expect(nginx).In(want...)
		s.Settle()
		s.Expect(nginx).In(want...).Works(members...)
		for _, m := range held {
			s.Expect(nginx).NeverIn(m)
		}
	})
}

func TestS3All(t *testing.T) {
	suspends(t, suspension(map[string]any{"suspendDispatching": true}), members...)
}

func TestS3AllReleasedForm(t *testing.T) {
	suspends(t, suspension(map[string]any{"dispatching": true}), members...)
}

func TestS4FalseIsNot(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"suspendDispatching", "dispatching"} {
		t.Run(field, func(t *testing.T) { suspends(t, suspension(map[string]any{field: false})) })
	}
}

func TestS5EmptyIsNot(t *testing.T) { suspends(t, suspension(map[string]any{})) }

func TestS6SomeClusters(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"suspendDispatchingOnClusters", "dispatchingOnClusters"} {
		t.Run(field, func(t *testing.T) {
			suspends(t, suspension(map[string]any{field: named("member2", "member3")}), "member2", "member3")
		})
	}
}

func TestS7BothRejected(t *testing.T) {
	const coexist = "suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames"
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p := s.Policy("pp").SelectingNothing()
		for _, all := range []string{"dispatching", "suspendDispatching"} {
			for _, some := range []string{"dispatchingOnClusters", "suspendDispatchingOnClusters"} {
				s.refuses(suspension(map[string]any{all: true, some: named("member1")})(p), coexist)
				s.Apply(suspension(map[string]any{all: false, some: named("member1")})(p))
				s.Apply(suspension(map[string]any{all: true, some: named()})(p))
			}
		}
	})
}

// S8: clusters are named, never selected.
func TestS8NoSelector(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		for _, field := range []string{"labelSelector", "fieldSelector", "exclude"} {
			p := suspension(map[string]any{"dispatchingOnClusters": map[string]any{field: map[string]any{}}})(s.Policy("pp"))
			s.strictly(p, field)
		}
	})
}

// strictly is that a strict API server knows no such field.
func (s *scenario) strictly(p policy, field string) {
	s.Helper()
	_, err := s.lab.hub.on(p.resource, p.namespace()).Create(s.Context(), p.object(),
		metav1.CreateOptions{FieldManager: "e2e", FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}})
	if err == nil || !strings.Contains(err.Error(), "unknown field") || !strings.Contains(err.Error(), field) {
		s.Errorf("field %s: %v; want it to be unknown", field, err)
	}
}

func TestS9UnknownCluster(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(s.Policy("pp").To("member1").SuspendedOn("member2", "no-such"), nginx)
		s.Expect(nginx).In("member1").Works("member1")
		s.Apply(nginx.At(2))
		s.Expect(nginx).At(2, "member1")
	})
}

func TestS10BindingCopy(t *testing.T) { copied(t, inNamespaces) }
func TestS11BindingCopy(t *testing.T) { copied(t, []form{cppcr}) }

// copied is that the binding holds the suspension in the released form.
func copied(t *testing.T, forms []form) {
	t.Helper()
	each(t, gatesOff, forms, func(s *scenario) {
		nginx := s.Template("nginx")
		s.Apply(nginx)
		for _, tc := range []struct{ say, want map[string]any }{
			{map[string]any{"suspendDispatching": true}, map[string]any{"dispatching": true}},
			{map[string]any{"suspendDispatchingOnClusters": named("member2")}, map[string]any{"dispatchingOnClusters": named("member2")}},
			{map[string]any{"dispatching": true}, map[string]any{"dispatching": true}},
		} {
			s.Apply(suspension(tc.say)(s.Policy("pp")))
			s.Expect(nginx).Binding(func(b map[string]any) error {
				got, _ := at(b, "spec.suspension").(map[string]any)
				if d := cmp.Diff(tc.want, got); d != "" {
					return fmt.Errorf("suspension (-want +got):\n%s", d)
				}
				return nil
			})
		}
		s.Apply(s.Policy("pp"))
		s.Expect(nginx).Binding(func(b map[string]any) error {
			if v := at(b, "spec.suspension"); v != nil && asJSON(v) != "{}" {
				return fmt.Errorf("suspension is %s, want none", asJSON(v))
			}
			return nil
		})
	})
}

// S12: nil, false and true of a Work, which nobody but its own suspension holds.
func TestS12WorkField(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p, nginx := s.Policy("pp").toAll().SuspendedOn("member2"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1", "member3").Work("member2", isSuspended).Work("member1", isNotSuspended)
		s.Apply(p.Resumed())
		s.Expect(nginx).In(members...).Work("member2", isNotSuspended)
	})
}

func TestS13NoSuspendedScheduling(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		for _, field := range []string{"suspendScheduling", "scheduling"} {
			s.strictly(suspension(map[string]any{field: true})(s.Policy("pp")), field)
		}
	})
}

// What a third party set on the binding outlives the policy's suspension.
func TestS13SchedulingOfThirdParty(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		b := s.Expect(nginx).binding()
		r := bindings
		if nginx.clusterScoped {
			r = clusterBindings
		}
		s.PatchAs("queue", newThing(r, b.GetNamespace(), b.GetName()), "{\"spec\":{\"suspension\":{\"scheduling\":true}}}")
		for _, next := range []policy{p.Suspended(), p.SuspendedOn("member2"), p.Resumed()} {
			s.Apply(next)
			s.Settle()
			s.Expect(nginx).Binding(func(b map[string]any) error {
				if !truth(b, "spec.suspension.scheduling") {
					return errors.New("suspension.scheduling is lost")
				}
				return nil
			})
		}
	})
}

// S14: either name, or both if they agree.
func TestS14FieldNames(t *testing.T) {
	suspends(t, suspension(map[string]any{"dispatching": true, "suspendDispatching": true}), members...)
}

func TestS14Contradiction(t *testing.T) {
	each(t, gatesOff, inNamespaces, func(s *scenario) {
		p := s.Policy("pp").SelectingNothing()
		s.Rejects(suspension(map[string]any{"dispatching": true, "suspendDispatching": false})(p))
		s.Rejects(suspension(map[string]any{"dispatchingOnClusters": named("member1"), "suspendDispatchingOnClusters": named("member2")})(p))
		s.Apply(suspension(map[string]any{"dispatchingOnClusters": named("member1", "member2"), "suspendDispatchingOnClusters": named("member2", "member1")})(p))
	})
}
