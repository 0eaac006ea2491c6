// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package dependencies_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	core "sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/dependencies"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// A binding that is gone has nothing left to say. Whoever is linked to it is found
// among those of its namespace that are linked to anything.
func TestABindingGoes(t *testing.T) {
	nginx := fixture.Deployment("nginx").Template().Key
	settings := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: nginx.Namespace, Name: "settings"}
	for name, tc := range map[string]struct {
		gone  propagation.TemplateKey
		stays []propagation.TemplateKey
		want  []string // types of events
	}{
		"the parent: what followed it goes": {gone: nginx, want: []string{events.BindingRemoved, events.TemplateTouched}},
		"the follower: its parent is told":  {gone: settings, stays: []propagation.TemplateKey{nginx}, want: []string{events.BindingScheduled}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			refers := workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{
				APIVersion: nginx.APIVersion, Kind: nginx.Kind, Namespace: nginx.Namespace, Name: nginx.Name,
			}}
			parent := core.Record(&propagation.Binding{Key: propagation.BindingOf(nginx), Spec: refers}, []propagation.TemplateKey{settings})
			for _, b := range []*propagation.Binding{parent, core.Attach(&propagation.Template{Key: settings}, nil, parent)} {
				if _, err := h.CommitBinding(ctx, nil, b); err != nil {
					t.Fatal(err)
				}
			}
			key := propagation.BindingOf(tc.gone)
			if err := h.DeleteBinding(ctx, h.LiveBinding(key)); err != nil {
				t.Fatal(err)
			}

			e, err := events.New("gate", event.Event{}, events.BindingRemoved, events.Data{Template: &tc.gone, Binding: &key})
			if err != nil {
				t.Fatal(err)
			}
			out, err := dependencies.New(h, suspensions{}).Handle(ctx, e)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range out {
				got = append(got, o.Type())
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("emitted %v, want %v", got, tc.want)
			}
			var stays []propagation.TemplateKey
			for _, b := range h.LiveBindings() {
				stays = append(stays, b.Template())
			}
			if !slices.Equal(stays, tc.stays) {
				t.Errorf("bindings that stay: %v, want %v", stays, tc.stays)
			}
		})
	}
}

// Somebody deletes a parent's binding. Its template lives, and runs where its Works
// are: what it refers to stays there with it, however long nothing is in force. So it
// does where the binding was made anew and has not said yet what it refers to.
func TestZ9WhatFollowedABindingThatIsMissingStays(t *testing.T) {
	nginx := fixture.Deployment("nginx").Template().Key
	settings := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: nginx.Namespace, Name: "settings"}
	for name, tc := range map[string]struct {
		work, anew, late bool
		stays            bool
	}{
		"it is missing, a moment":                          {work: true, stays: true},
		"it is missing, and its Works are there":           {work: true, late: true, stays: true},
		"it is missing, and so are its Works":              {late: true},
		"it was made anew, and has not said yet":           {work: true, anew: true, stays: true},
		"it was made anew long since, and says nothing":    {work: true, anew: true, late: true},
		"it is missing without Works, and may be made yet": {stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			bare := &propagation.Binding{Key: propagation.BindingOf(nginx), Spec: workv1alpha2.ResourceBindingSpec{
				Resource:      workv1alpha2.ObjectReference{APIVersion: nginx.APIVersion, Kind: nginx.Kind, Namespace: nginx.Namespace, Name: nginx.Name},
				PropagateDeps: true, Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}},
			}}
			follower, err := h.CommitBinding(ctx, nil, core.Attach(&propagation.Template{Key: settings}, nil, core.Record(bare, []propagation.TemplateKey{settings})))
			if err != nil {
				t.Fatal(err)
			}
			if tc.work {
				w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: propagation.WorkName(bare.Key)}}
				if err := h.EnsureNamespace(ctx, w.Key.Namespace()); err != nil {
					t.Fatal(err)
				}
				if _, err := h.CommitWork(ctx, nil, w); err != nil {
					t.Fatal(err)
				}
			}
			if tc.anew {
				if _, err := h.CommitBinding(ctx, nil, bare); err != nil {
					t.Fatal(err)
				}
			}
			reason := ""
			if tc.late {
				reason = events.ReasonFollowsNobody
			}
			e, err := events.New("sweeper", event.Event{}, events.BindingScheduled, events.Data{Template: &settings, Binding: &follower.Key, Reason: reason})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := dependencies.New(h, suspensions{}).Handle(ctx, e); err != nil {
				t.Fatal(err)
			}
			b := h.LiveBinding(follower.Key)
			if stays := b != nil && len(b.Spec.RequiredBy) > 0; stays != tc.stays {
				t.Errorf("it follows still: %t, want %t", stays, tc.stays)
			}
		})
	}
}

// What a template refers to stays where that stays: if it went with its kind, or with a
// former definition of it.
func TestZ11WhatFollowsATemplateThatWentWithItsKindStays(t *testing.T) {
	widget := propagation.TemplateKey{APIVersion: "example.org/v1", Kind: "Widget", Namespace: "shop", Name: "one"}
	settings := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	kind := widget.GroupVersionKind().GroupKind()
	for sentence, tc := range map[string]struct {
		hub   func(h *pipelinetest.Hub)
		stays bool
	}{
		"its template was deleted":                           {hub: func(*pipelinetest.Hub) {}},
		"it was, and its kind is as it was then":             {hub: func(h *pipelinetest.Hub) { h.Define(kind, fixture.Start.Add(-time.Hour)) }},
		"its template went with its kind":                    {hub: func(h *pipelinetest.Hub) { h.Serve(kind) }, stays: true},
		"its template went with the former definition of it": {hub: func(h *pipelinetest.Hub) { h.Define(kind, fixture.Start.Add(time.Hour)) }, stays: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			ctx := t.Context()
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			bare := &propagation.Binding{Key: propagation.BindingOf(widget), Spec: workv1alpha2.ResourceBindingSpec{
				Resource:      workv1alpha2.ObjectReference{APIVersion: widget.APIVersion, Kind: widget.Kind, Namespace: widget.Namespace, Name: widget.Name},
				PropagateDeps: true, Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}},
			}}
			follower, err := h.CommitBinding(ctx, nil, core.Attach(&propagation.Template{Key: settings}, nil, core.Record(bare, []propagation.TemplateKey{settings})))
			if err != nil {
				t.Fatal(err)
			}
			w := &propagation.Work{
				Key:         propagation.WorkKey{Cluster: "m1", Name: propagation.WorkName(bare.Key)},
				Annotations: map[string]string{propagation.AnnotationBindingCreated: fixture.Start.Format(time.RFC3339)},
			}
			if err := h.EnsureNamespace(ctx, w.Key.Namespace()); err != nil {
				t.Fatal(err)
			}
			if _, err := h.CommitWork(ctx, nil, w); err != nil {
				t.Fatal(err)
			}
			tc.hub(h)
			e, err := events.New("test", event.Event{}, events.BindingRemoved, events.Data{Template: &widget, Binding: &bare.Key})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := dependencies.New(h, suspensions{}).Handle(ctx, e); err != nil {
				t.Fatal(err)
			}
			b := h.LiveBinding(follower.Key)
			if stays := b != nil && len(b.Spec.RequiredBy) > 0; stays != tc.stays {
				t.Errorf("it follows still: %t, want %t", stays, tc.stays)
			}
		})
	}
}
