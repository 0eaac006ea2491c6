// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/scheduler"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

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

// TestAChangedClusterListsEachBindingOnce: a page of the fan-out costs a page of the
// list, and pages that concern nobody cost no event each.
func TestAChangedClusterListsEachBindingOnce(t *testing.T) {
	now := func() time.Time { return fixture.Start }
	for sentence, tc := range map[string]struct {
		bindings, concerned, wantEvents, wantLists int
	}{
		"every binding is concerned":                      {450, 450, 5, 5},
		"the last ones are concerned":                     {450, 10, 1, 5},
		"nobody is concerned":                             {450, 0, 1, 5},
		"one event reads no more than it may, of so many": {2100, 0, 2, 21},
	} {
		t.Run(sentence, func(t *testing.T) {
			l := &lister{Hub: pipelinetest.NewHub(pipelinetest.Options{Now: now})}
			l.Join("m1")
			for i := range tc.bindings {
				key := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("config-%04d", i)}
				b := &propagation.Binding{Key: propagation.BindingOf(key)}
				b.Spec.Resource.APIVersion, b.Spec.Resource.Kind, b.Spec.Resource.Namespace, b.Spec.Resource.Name = key.APIVersion, key.Kind, key.Namespace, key.Name
				if i >= tc.bindings-tc.concerned { // the others follow somebody, and have no placement of their own
					b.Spec.Placement = &policyv1alpha1.Placement{}
				}
				if _, err := l.CommitBinding(t.Context(), nil, b); err != nil {
					t.Fatal(err)
				}
			}
			s, handled, told := scheduler.New(l, l, noPlacements{}, l, now), 0, map[string]bool{}
			e, err := events.New("sweeper", event.Event{}, events.ClusterChanged, events.Data{Cluster: "m1"})
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
					if o.Type() == events.ClusterChanged {
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
			if handled != tc.wantEvents || l.lists != tc.wantLists || l.listed != tc.bindings || len(told) != tc.concerned {
				t.Errorf("%d events, %d lists of %d bindings, %d told; want %d, %d, %d, %d",
					handled, l.lists, l.listed, len(told), tc.wantEvents, tc.wantLists, tc.bindings, tc.concerned)
			}
		})
	}
}
