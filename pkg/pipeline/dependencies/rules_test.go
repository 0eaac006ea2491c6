// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package dependencies_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	events "sluice.dev/apis/events/v1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	core "sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/dependencies"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// What follows a template is what the rules of its kind say, and stays where they fail.
func TestWhatFollowsAsARuleSays(t *testing.T) {
	settings := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	for name, tc := range map[string]struct {
		rule   string
		before []propagation.TemplateKey
		want   []propagation.TemplateKey
	}{
		"nothing, without a rule":          {},
		"what the rule says":               {rule: `[{'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': object.spec.uses}]`, want: []propagation.TemplateKey{settings}},
		"no more what it does not say":     {rule: `[]`, before: []propagation.TemplateKey{settings}},
		"what followed, where it fails":    {rule: `[object.spec.none]`, before: []propagation.TemplateKey{settings}, want: []propagation.TemplateKey{settings}},
		"what followed, where it is wrong": {rule: `oops(`, before: []propagation.TemplateKey{settings}, want: []propagation.TemplateKey{settings}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			key := propagation.TemplateKey{APIVersion: "example.com/v1", Kind: "Widget", Namespace: "shop", Name: "blue"}
			content := map[string]any{
				"apiVersion": key.APIVersion, "kind": key.Kind, "metadata": map[string]any{"namespace": key.Namespace, "name": key.Name},
				"spec": map[string]any{"uses": "settings"},
			}
			hash := propagation.HashContent(content)
			if tc.rule != "" {
				spec := configv1alpha1.ResourceInterpreterSpec{Target: configv1alpha1.Target{APIVersion: key.APIVersion, Kind: key.Kind}}
				spec.Rules.Dependencies = &configv1alpha1.Rule{Expression: tc.rule}
				h.PutInterpreter("widgets", spec)
			}
			b := &propagation.Binding{Key: propagation.BindingOf(key), Spec: workv1alpha2.ResourceBindingSpec{
				Resource:      workv1alpha2.ObjectReference{APIVersion: key.APIVersion, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name},
				PropagateDeps: true, Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}},
			}, Annotations: map[string]string{propagation.AnnotationActivePolicy: "p", propagation.AnnotationContentHash: hash, propagation.AnnotationRevision: propagation.RevisionName(propagation.BindingOf(key), hash)}}
			b = core.Record(b, tc.before)
			b, err := h.CommitBinding(ctx, nil, b)
			if err != nil {
				t.Fatal(err)
			}
			r := &propagation.Revision{Namespace: "shop", Name: b.Revision(), Binding: b.Key, Hash: hash, Content: content}
			if err := h.CreateRevision(ctx, b, r); err != nil {
				t.Fatal(err)
			}
			e, err := events.New("gate", event.Event{}, events.BindingActivated, events.Data{Template: &key, Binding: &b.Key})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := dependencies.New(h, suspensions{}).Handle(ctx, e); err != nil {
				t.Fatal(err)
			}
			if got := core.Recorded(h.LiveBinding(b.Key)); !slices.Equal(got, tc.want) {
				t.Errorf("what follows: %v, want %v", got, tc.want)
			}
		})
	}
}

// What follows a template by a rule that nobody took back goes on following it, to where the
// template itself stays.
func TestZ11WhatFollowsByRulesThatWentWithTheirDefinition(t *testing.T) {
	settings := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	key := propagation.TemplateKey{APIVersion: "example.com/v1", Kind: "Widget", Namespace: "shop", Name: "blue"}
	spec := configv1alpha1.ResourceInterpreterSpec{Target: configv1alpha1.Target{APIVersion: key.APIVersion, Kind: key.Kind}}
	spec.Rules.Dependencies = &configv1alpha1.Rule{Expression: `[{'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': 'settings'}]`}
	for sentence, tc := range map[string]struct {
		defined time.Duration // when their definition was made, before or after the rules
		want    []string      // where the dependency is, when the binding moves to another cluster
	}{
		"they went":             {defined: time.Hour, want: []string{"m1", "m2"}},
		"somebody deleted them": {defined: -time.Hour},
	} {
		t.Run(sentence, func(t *testing.T) {
			ctx, now := t.Context(), func() time.Time { return fixture.Start }
			h := pipelinetest.NewHub(pipelinetest.Options{Now: now})
			h.Apply(key, func(map[string]any) {})
			h.Apply(settings, func(map[string]any) {})
			content := propagation.Content(h.Live(key).Object)
			hash := propagation.HashContent(content)
			b := &propagation.Binding{Key: propagation.BindingOf(key), Annotations: map[string]string{
				propagation.AnnotationActivePolicy: "p", propagation.AnnotationContentHash: hash, propagation.AnnotationRevision: propagation.RevisionName(propagation.BindingOf(key), hash),
				propagation.AnnotationInterpreter: "widgets/" + fixture.Start.UTC().Format(time.RFC3339),
			}}
			b.Spec = workv1alpha2.ResourceBindingSpec{
				Resource:      workv1alpha2.ObjectReference{APIVersion: key.APIVersion, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name},
				PropagateDeps: true, Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}},
			}
			b, err := h.CommitBinding(ctx, nil, b)
			if err != nil {
				t.Fatal(err)
			}
			if err := h.CreateRevision(ctx, b, &propagation.Revision{Namespace: "shop", Name: b.Revision(), Binding: b.Key, Hash: hash, Content: content}); err != nil {
				t.Fatal(err)
			}
			handle := func() []string {
				e, err := events.New("gate", event.Event{}, events.BindingActivated, events.Data{Template: &key, Binding: &b.Key})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := dependencies.New(h, suspensions{}).Handle(ctx, e); err != nil {
					t.Fatal(err)
				}
				if d := h.LiveBinding(propagation.BindingOf(settings)); d != nil {
					return d.TargetClusters()
				}
				return nil
			}
			h.PutInterpreter("widgets", spec)
			if got := handle(); !slices.Equal(got, []string{"m1"}) {
				t.Fatalf("the rules are not in force: it is in %v", got)
			}
			h.DropInterpreter("widgets")
			h.Define(hub.InterpreterKind().GroupKind(), fixture.Start.Add(tc.defined))
			was := h.LiveBinding(b.Key)
			next := *was
			next.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m2"}}
			if _, err := h.CommitBinding(ctx, was, &next); err != nil {
				t.Fatal(err)
			}
			if got := handle(); !slices.Equal(got, tc.want) {
				t.Errorf("it is in %v, want %v", got, tc.want)
			}
			h.PutInterpreter("widgets", spec)
			if got := handle(); !slices.Equal(got, []string{"m2"}) {
				t.Errorf("the rules were made again, and it is in %v", got)
			}
		})
	}
}
