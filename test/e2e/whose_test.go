// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Whose a binding or a Work is does not depend on words in it, which somebody may edit.

// whose is what a binding says of its template, but for the version of its content.
func (s *scenario) whose(b thing) string {
	s.Helper()
	spec, _ := s.Live(b).Object["spec"].(map[string]any)
	r, _ := spec["resource"].(map[string]any)
	delete(r, "resourceVersion")
	return asJSON(r)
}

// What a binding says of its template is put right, and no member hears of it.
func TestZ4BindingThatNamesAnotherTemplate(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		p, nginx := s.spread()
		s.Expect(nginx).ClaimedBy(p).Binding(isCondition("FullyApplied", "True"))
		s.Rest()
		before, b := s.uids(nginx, members...), s.bindingOf(nginx)
		was, made := s.whose(b), s.Live(b).GetUID()
		for i, words := range []string{
			fmt.Sprintf(`"apiVersion":"%s/v9"`, nginx.group), `"apiVersion":"extensions/v1beta1"`, `"apiVersion":"batch/v1"`, `"kind":"StatefulSet"`, `"name":"other"`,
			`"apiVersion":"v1","kind":"ConfigMap","name":"other"`, `"uid":"other"`, `"uid":null`,
		} {
			s.Untouched(func() {
				s.Patch(b, fmt.Sprintf(`{"spec":{"resource":{%s}}}`, words))
				s.Eventually(func() error { return differs("what the binding names", s.whose(b), was) })
			})
			if live := s.Live(b); live.GetUID() != made {
				s.Errorf("the binding was made anew")
			}
			if s.Failed() {
				s.Fatalf("the binding names %s", words)
			}
			s.goesOn(nginx, int64(i+2), before, members...)
		}
		s.Patch(b, `{"spec":{"resource":{"apiVersion":"batch/v1"}}}`)
		s.Delete(nginx)
		s.Expect(nginx).Nowhere().Works()
	})
}

// A Work of which somebody edited both its template and its binding is put right, gets the
// next change and goes with its template.
func TestZ34WorkThatNamesAnotherTemplateAndBinding(t *testing.T) {
	each(t, gatesOff, everyForm, func(s *scenario) {
		_, nginx := s.spread()
		s.Expect(nginx).Work("member2", isCondition("Applied", "True"))
		before, w := s.uids(nginx, members...), asThing(works, s.Expect(nginx).work("member2"))
		binding := "resourcebinding.karmada.io/"
		if nginx.namespace() == "" {
			binding = "cluster" + binding
		}
		was, made := s.Live(w).GetAnnotations(), s.Live(w).GetUID()
		other := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","namespace":%q,"name":"other"}`, s.ns)
		edit := func(key string) {
			s.Patch(w, fmt.Sprintf(`{"metadata":{"annotations":{"sluice.dev/template":%q,%q:"another"}}}`, other, binding+key))
		}
		for i, key := range []string{"name", "namespace"} {
			if was[binding+key] == "" {
				continue // a cluster's binding has no namespace
			}
			s.Untouched(func() {
				edit(key)
				s.Eventually(func() error { return differs("the annotations", asJSON(s.Live(w).GetAnnotations()), asJSON(was)) })
			})
			if s.Live(w).GetUID() != made {
				s.Error("the Work was made anew")
			}
			s.goesOn(nginx, int64(i+2), before, members...)
			s.Rest()
			was = s.Live(w).GetAnnotations()
		}
		edit("name")
		s.Delete(nginx)
		s.Expect(nginx).Nowhere().Works()
	})
}

// copies makes a copy of a Work, finalizers and all, as somebody would from a file.
func (s *scenario) copies(original *unstructured.Unstructured, namespace, name string) thing {
	s.Helper()
	kind := works
	if original.GroupVersionKind().Group == placedWorks.group {
		kind = placedWorks
	}
	file := original.DeepCopy()
	file.SetNamespace(namespace)
	file.SetName(name)
	file.SetUID("")
	file.SetResourceVersion("")
	made, err := s.lab.hub.on(kind, namespace).Create(s.Context(), file, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return asThing(kind, made)
}

// A Work that somebody copied into the namespace of a member that the policy leaves out
// leaves nothing there. Under another name it is nobody's, and brings nothing there; under
// its own it is the binding's, which has it removed.
func TestZ3WorkCopiedToAnotherMember(t *testing.T) {
	t.Parallel()
	for name, renamed := range map[string]bool{"under its name": false, "under another name": true} {
		t.Run(name, func(t *testing.T) {
			each(t, gatesOff, everyForm, func(s *scenario) {
				nginx := s.Template("nginx")
				s.Apply(s.Policy("pp").To("member1", "member2"), nginx)
				s.Expect(nginx).In("member1", "member2").At(1).Work("member2", isCondition("Applied", "True"))
				original := s.Expect(nginx).work("member2")
				name := original.GetName()
				if renamed {
					name = "copy-of-" + s.ns
				}
				copied := s.copies(original, "karmada-es-member3", name)
				s.Settle()
				s.forget("hub", copied)
				s.ends(copied)
				s.Expect(nginx).In("member1", "member2")
				if renamed {
					s.Expect(nginx).NeverIn("member3")
				}
			})
		})
	}
}
