// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package dependencies_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	core "sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/dependencies"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// suspensions are the clusters on which Redis says that bindings are suspended.
type suspensions map[propagation.BindingKey][]string

func (s suspensions) SetBinding(_ context.Context, key propagation.BindingKey, v suspension.Suspension) error {
	s[key] = v.Clusters
	return nil
}

// deaf is a hub whose answers to commits of bindings are lost.
type deaf struct {
	*pipelinetest.Hub
	lost bool
}

func (d *deaf) CommitBinding(ctx context.Context, old, next *propagation.Binding) (*propagation.Binding, error) {
	b, err := d.Hub.CommitBinding(ctx, old, next)
	if err == nil && d.lost {
		return nil, errors.New("the answer is lost")
	}
	return b, err
}

// What a template refers to inherits where that is suspended. Nothing is left of it in
// Redis when they part, whatever is lost on the way: it would hold back for ever what
// nobody suspends.
func TestNoInheritedSuspensionOutlivesWhatItIsInheritedFrom(t *testing.T) {
	nginx := fixture.Deployment("nginx").Template().Key
	settings := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: nginx.Namespace, Name: "settings"}
	for name, tc := range map[string]struct {
		gone []propagation.TemplateKey // whose bindings are gone
		lost bool                      // the answer to the first commit
		anew bool                      // the follower's binding is created again, before it is heard that it was gone
		want []string
	}{
		"nothing is gone":                                            {want: []string{"m3"}},
		"the parent is gone":                                         {gone: []propagation.TemplateKey{nginx}},
		"the parent is gone, and an answer, too":                     {gone: []propagation.TemplateKey{nginx}, lost: true},
		"the follower is gone, and then the parent":                  {gone: []propagation.TemplateKey{settings, nginx}},
		"both are gone at once":                                      {gone: []propagation.TemplateKey{nginx, settings}},
		"both are gone, and a policy has the follower created again": {gone: []propagation.TemplateKey{nginx, settings}, anew: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			h := &deaf{Hub: pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})}
			parent := core.Record(&propagation.Binding{Key: propagation.BindingOf(nginx), Spec: workv1alpha2.ResourceBindingSpec{
				Resource:      workv1alpha2.ObjectReference{APIVersion: nginx.APIVersion, Kind: nginx.Kind, Namespace: nginx.Namespace, Name: nginx.Name},
				PropagateDeps: true, Clusters: []workv1alpha2.TargetCluster{{Name: "m2"}, {Name: "m3"}},
				Suspension: &workv1alpha2.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: []string{"m3"}}},
			}}, []propagation.TemplateKey{settings})
			follower := core.Attach(&propagation.Template{Key: settings, UID: "1"}, nil, parent)
			for _, b := range []*propagation.Binding{parent, follower} {
				if _, err := h.CommitBinding(ctx, nil, b); err != nil {
					t.Fatal(err)
				}
			}
			set := suspensions{follower.Key: follower.InheritedSuspensions()}
			for _, key := range tc.gone {
				if err := h.DeleteBinding(ctx, h.LiveBinding(propagation.BindingOf(key))); err != nil {
					t.Fatal(err)
				}
			}
			if tc.anew {
				next := &propagation.Binding{Key: follower.Key, Annotations: map[string]string{propagation.AnnotationActivePolicy: "p"}}
				next.Spec.Resource = follower.Spec.Resource
				if _, err := h.CommitBinding(ctx, nil, next); err != nil {
					t.Fatal(err)
				}
			}
			h.lost = tc.lost
			for _, key := range tc.gone {
				e, err := events.New("gate", event.Event{}, events.BindingRemoved, events.Data{Template: &key, Binding: new(propagation.BindingOf(key))})
				if err != nil {
					t.Fatal(err)
				}
				stage := dependencies.New(h, set)
				if _, err = stage.Handle(ctx, e); (err != nil) != tc.lost {
					t.Fatal(err)
				}
				h.lost = false
				if _, err = stage.Handle(ctx, e); err != nil { // it comes again
					t.Fatal(err)
				}
			}
			if got := set[follower.Key]; !slices.Equal(got, tc.want) {
				t.Errorf("suspended on %v, want %v", got, tc.want)
			}
		})
	}
}
