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
