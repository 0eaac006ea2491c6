// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/renderer"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// TestZ32OverridesOfANamespace concern the bindings of that namespace, and have
// those of no other read.
func TestZ32OverridesOfANamespace(t *testing.T) {
	now := func() time.Time { return fixture.Start }
	var asked []string
	h := pipelinetest.NewHub(pipelinetest.Options{Now: now})
	bind := func(namespace string, n int) {
		for i := range n {
			key := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: fmt.Sprintf("config-%d", i)}
			b := &propagation.Binding{Key: propagation.BindingOf(key), Annotations: map[string]string{propagation.AnnotationContentHash: "some"}}
			b.Spec.Resource.APIVersion, b.Spec.Resource.Kind, b.Spec.Resource.Namespace, b.Spec.Resource.Name = key.APIVersion, key.Kind, key.Namespace, key.Name
			if _, err := h.CommitBinding(t.Context(), nil, b); err != nil {
				t.Fatal(err)
			}
		}
	}
	bind("shop", 150)
	bind("zoo", 30)
	h.Ask = func(_ context.Context, r pipelinetest.Request) error {
		asked = append(asked, r.Verb+" "+r.About)
		return nil
	}
	s := renderer.New(h, now)
	for sentence, tc := range map[string]struct {
		kind, namespace string
		want            map[string]int
		wantAsked       string
	}{
		"one of a namespace":                       {"OverridePolicy", "shop", map[string]int{"shop": 150}, "list bindings of shop"},
		"one of a namespace that has few":          {"OverridePolicy", "zoo", map[string]int{"zoo": 30}, "list bindings of zoo"},
		"one of a namespace that has none":         {"OverridePolicy", "empty", map[string]int{}, "list bindings of empty"},
		"one of the cluster concerns all, as ever": {"ClusterOverridePolicy", "", map[string]int{"shop": 150, "zoo": 30}, "list bindings"},
	} {
		t.Run(sentence, func(t *testing.T) {
			asked = nil
			e, err := events.NewResource("https://hub", events.ResourceDeleted, events.Object{TemplateKey: propagation.TemplateKey{
				APIVersion: "policy.karmada.io/v1alpha1", Kind: tc.kind, Namespace: tc.namespace, Name: "over",
			}, Version: "1"})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for todo := []event.Event{e}; len(todo) > 0; {
				out, err := s.Handle(t.Context(), todo[0])
				if err != nil {
					t.Fatal(err)
				}
				todo = todo[1:]
				for _, o := range out {
					if o.Type() == events.OverridesChanged {
						todo = append(todo, o)
						continue
					}
					msg, err := events.Decode(o)
					if err != nil {
						t.Fatal(err)
					}
					got[msg.Binding.Namespace]++
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("announced (-want +got):\n%s", diff)
			}
			if slices.ContainsFunc(asked, func(a string) bool { return a != tc.wantAsked }) {
				t.Errorf("asked for %v, want %s alone", asked, tc.wantAsked)
			}
		})
	}
}

// lister counts the bindings that are listed.
type lister struct {
	*pipelinetest.Hub
	lists, listed int
}

func (l *lister) ListBindings(ctx context.Context, namespace string, limit int64, cont string) ([]*propagation.Binding, string, error) {
	page, next, err := l.Hub.ListBindings(ctx, namespace, limit, cont)
	l.lists, l.listed = l.lists+1, l.listed+len(page)
	return page, next, err
}

// TestAnOverrideListsEachBindingOnce: a page of the fan-out costs a page of the list,
// whatever the number of bindings.
func TestAnOverrideListsEachBindingOnce(t *testing.T) {
	now := func() time.Time { return fixture.Start }
	l := &lister{Hub: pipelinetest.NewHub(pipelinetest.Options{Now: now})}
	const bindings = 450
	for i := range bindings {
		key := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("config-%d", i)}
		b := &propagation.Binding{Key: propagation.BindingOf(key), Annotations: map[string]string{propagation.AnnotationContentHash: "some"}}
		b.Spec.Resource.APIVersion, b.Spec.Resource.Kind, b.Spec.Resource.Namespace, b.Spec.Resource.Name = key.APIVersion, key.Kind, key.Namespace, key.Name
		if _, err := l.CommitBinding(t.Context(), nil, b); err != nil {
			t.Fatal(err)
		}
	}
	s, handled, told := renderer.New(l, now), 0, map[string]bool{}
	e, err := events.New("renderer", event.Event{}, events.OverridesChanged, events.Data{Policy: &propagation.PolicyKey{Scope: propagation.Cluster, Name: "over"}})
	if err != nil {
		t.Fatal(err)
	}
	for todo := []event.Event{e}; len(todo) > 0; todo = todo[1:] {
		handled++
		out, err := s.Handle(t.Context(), todo[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out {
			if o.Type() == events.OverridesChanged {
				todo = append(todo, o)
				continue
			}
			msg, err := events.Decode(o)
			if err != nil {
				t.Fatal(err)
			}
			told[msg.Binding.ID()] = true
		}
	}
	if handled != 5 || l.lists != 5 || l.listed != bindings || len(told) != bindings {
		t.Errorf("%d events, %d lists of %d bindings, %d told; want 5, 5, %d, %d", handled, l.lists, l.listed, len(told), bindings, bindings)
	}
}
