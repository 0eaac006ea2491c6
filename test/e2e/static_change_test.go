// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func differs(what string, got, want any) error {
	if d := cmp.Diff(want, got); d != "" {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}

// waiting leaves nginx in member1 with a change of its policy to member2 that
// the gate holds back.
func (s *scenario) waiting() (policy, template) {
	s.Helper()
	p, nginx := s.Policy("pp"), s.Template("nginx")
	s.Apply(p, nginx)
	s.Expect(nginx).In("member1")
	s.Apply(p.To("member2"))
	return p, nginx
}

func TestST22RestartBeforeBinding(t *testing.T) {
	alone(t, static, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(p)
		s.whileAway(func() { s.Apply(nginx) })
		s.Expect(nginx).In("member1").ClaimedBy(p)
	})
}

func TestST23RestartWhileIdle(t *testing.T) {
	alone(t, static, everyForm, func(s *scenario) {
		_, nginx := s.waiting()
		s.Unchanged(s.Restart)
		s.Unchanged(func() { s.Flush(); s.Restart() })
		s.Expect(nginx).In("member1")
	})
}

func TestST24RestartBeforeBindingUpdated(t *testing.T) {
	alone(t, static, everyForm, func(s *scenario) {
		p, nginx := s.waiting()
		s.whileAway(func() { s.Apply(nginx.At(2)) })
		s.Expect(nginx).In("member2").At(2).ClaimedBy(p)
	})
}

func TestST30SystemLabels(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		_, nginx := s.waiting()
		s.Unchanged(func() {
			s.Patch(nginx, "{\"metadata\":{\"labels\":{\"policy.karmada.io/applied\":\"1\"},\"annotations\":{\"x.karmada.io/y\":\"1\"}}}")
		})
		s.Touch(nginx)
		s.Expect(nginx).In("member2")
	})
}

func TestST31StatusUpdates(t *testing.T) {
	each(t, static, inNamespaces, func(s *scenario) {
		_, nginx := s.waiting()
		s.Unchanged(func() {
			s.PatchAs("somebody", nginx, "{\"status\":{\"conditions\":[{\"type\":\"Odd\",\"status\":\"True\"}]}}", "status")
		})
		s.Expect(nginx).In("member1")
	})
}

// ST32: all that Sluice writes into a template has a name of its own domain.
func TestST32TemplateIsTheUsers(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(nginx)
		before := usersPart(s.Live(nginx))
		s.Apply(p)
		s.Expect(nginx).In("member1").ClaimedBy(p)
		s.Rest()
		if d := cmp.Diff(before, usersPart(s.Live(nginx))); d != "" {
			s.Errorf("the user's part of the template changed (-was +is):\n%s", d)
		}
	})
}

// usersPart is an object without status, what the API server writes, and what
// bears the system's names.
func usersPart(o *unstructured.Unstructured) map[string]any {
	obj := withoutStatus(o)
	for _, f := range []string{"generation", "uid", "creationTimestamp"} {
		unstructured.RemoveNestedField(obj, "metadata", f)
	}
	for _, f := range []string{"labels", "annotations"} {
		m, _ := at(obj, "metadata."+f).(map[string]any)
		for k := range m {
			if strings.Contains(k, ".karmada.io") || strings.Contains(k, "sluice.dev/") {
				delete(m, k)
			}
		}
		if len(m) == 0 {
			unstructured.RemoveNestedField(obj, "metadata", f)
		}
	}
	return obj
}

func TestST36VersionInEffect(t *testing.T) {
	each(t, static, everyForm, func(s *scenario) {
		_, nginx := s.waiting()
		s.Expect(nginx).Binding(isCondition("Active", "False", "generation 1", "generation 2", "pp"))
		s.Touch(nginx)
		s.Expect(nginx).In("member2").Binding(isCondition("Active", "True", "generation 2"))
	})
}

// The stories: a global default gets another cluster, a namespace gets a policy
// of its own.
func TestST37Stories(t *testing.T) {
	t.Parallel()
	t.Run("another cluster in the default", func(t *testing.T) {
		each(t, static, []form{cpp}, func(s *scenario) {
			nginx, other := s.Template("nginx"), s.Template("other")
			p := s.Policy("default").SelectingKind(nginx).To("member1", "member2")
			s.Apply(p, nginx, other)
			s.Expect(nginx).In("member1", "member2")
			s.Expect(other).In("member1", "member2")
			s.Unchanged(func() { s.Apply(p.toAll()) })
			s.Apply(nginx.At(2))
			s.Expect(nginx).In(members...)
			s.Settle()
			s.Expect(other).In("member1", "member2")
		})
	})
	t.Run("a policy for one namespace", func(t *testing.T) {
		each(t, static, []form{cpp}, func(s *scenario) {
			nginx := s.Template("nginx")
			s.Apply(s.Policy("default").SelectingKind(nginx).To("member1", "member2"), nginx)
			s.Expect(nginx).In("member1", "member2")
			custom := s.Policy("custom").SelectingKind(nginx).Priority(100).To("member3")
			s.Unchanged(func() { s.Apply(custom) })
			s.Apply(nginx.At(2))
			s.Expect(nginx).In("member3").ClaimedBy(custom)
		})
	})
}

// ST38: the switch itself changes nothing; what becomes due comes by and by.
func TestST38Switch(t *testing.T) {
	alone(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Unchanged(func() { s.Switch(static) })
		s.Unchanged(func() { s.Apply(p.To("member2")) })
		s.Switch(gatesOff)
		s.Expect(nginx).In("member2")
	})
}

// Pending content reaches no member by whatever road.
func TestST20NoRoadForPendingContent(t *testing.T) {
	alone(t, static, everyForm, func(s *scenario) {
		p, nginx := s.Policy("pp"), s.Template("nginx")
		s.Apply(p, nginx)
		s.Expect(nginx).In("member1")
		s.Delete(p)
		s.Expect(nginx).Unclaimed()
		s.Unchanged(func() { s.Apply(nginx.At(5)) })
		s.Unchanged(func() { s.Restart(); s.Flush() })
		s.Apply(s.override("over", nginx, "by", "override", "member1"))
		s.Expect(nginx).Labelled("member1", "by", "override").At(1, "member1")
		s.DeleteIn("member1", nginx)
		s.Expect(nginx).In("member1").At(1).had("member1", "1")
	})
}

// Static ignores preemption, and Lazy goes on to mean what it says.
func TestY4StaticLazyPreemption(t *testing.T) {
	t.Parallel()
	t.Run("lazy waits", func(t *testing.T) {
		each(t, static, everyForm, func(s *scenario) {
			p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
			s.Apply(nginx)
			s.Settle()
			s.Unchanged(func() {
				s.Apply(p)
				s.Expect(nginx).ClaimedBy(p)
			})
			s.Expect(nginx).Nowhere()
			s.Touch(nginx)
			s.Expect(nginx).In("member1")
		})
	})
	t.Run("preemption is ignored", func(t *testing.T) {
		each(t, gating{static: true, preemption: true}, everyForm, func(s *scenario) {
			p, nginx := s.Policy("pp").Lazy(), s.Template("nginx")
			s.Apply(p, nginx)
			s.Expect(nginx).In("member1")
			high := s.Policy("high").Priority(2).Always().To("member2")
			s.Unchanged(func() { s.Apply(high) })
			s.Expect(nginx).ClaimedBy(p)
			s.Touch(nginx)
			s.Expect(nginx).In("member2").ClaimedBy(high)
		})
	})
	t.Run("a warning tells", func(t *testing.T) {
		each(t, static, inNamespaces, func(s *scenario) {
			if w := s.warnings(s.Policy("pp").Always()); !strings.Contains(w, "preemption") {
				s.Errorf("the warnings are %q, want one about preemption", w)
			}
		})
	})
}
