// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// Z30: where the next sweep is a minute away, what may never become healthy is told as
// applied at once; where it is seconds away, that waits for the object to settle. What the
// member's admission changed is told at once each time: until then it looks drifted.
func TestZ30WhatIsOnItsWayIsToldAtOnce(t *testing.T) {
	for sentence, tc := range map[string]struct {
		atOnce bool
		says   bool
		// changed is what admission changes.
		changed string
	}{"at once": {true, true, ""}, "when it has settled": {false, false, ""}, "what admission changes": {false, true, "spec.replicas"}} {
		t.Run(sentence, func(t *testing.T) {
			ctx, key := t.Context(), propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}
			binding := propagation.BindingOf(key)
			h, m := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }}), pipelinetest.NewMember("m1")
			h.Join("m1")
			if err := h.EnsureNamespace(ctx, propagation.WorkNamespace("m1")); err != nil {
				t.Fatal(err)
			}
			if err := m.EnsureNamespace(ctx, "shop", nil); err != nil {
				t.Fatal(err)
			}
			w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: propagation.WorkName(binding)}, Annotations: map[string]string{
				propagation.AnnotationTemplate:         `{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"nginx"}`,
				propagation.AnnotationBindingNamespace: binding.Namespace, propagation.AnnotationBindingName: binding.Name,
			}}
			w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(
				`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"nginx"},"spec":{"replicas":2}}`)}}}
			w, err := h.CommitWork(ctx, nil, w)
			if err != nil {
				t.Fatal(err)
			}
			admits := &admitting{Member: m, changes: map[string]string{"nginx": tc.changed}}
			stage := applier.New(h, open{}, func(context.Context, string) (applier.Member, error) { return admits, nil }, func() time.Time { return fixture.Start })
			if tc.atOnce {
				stage = stage.AtOnce()
			}
			e, err := events.New("renderer", event.New(), events.WorkRendered, events.Data{Template: &key, Binding: &binding, Work: &w.Key, Cluster: "m1"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stage.Handle(ctx, e); err != nil {
				t.Fatal(err)
			}
			live := h.LiveWork(w.Key)
			if says := conditions.Is(live.Status.Conditions, workv1alpha1.ConditionApplied, metav1.ConditionTrue); says != tc.says || m.Object(key) == nil {
				t.Errorf("the Work says that it is applied: %t, and the member has it: %t", says, m.Object(key) != nil)
			}
			if tc.says && live.Status.ManifestStatuses[0].Health != workv1alpha1.ResourceUnhealthy {
				t.Errorf("health %s", live.Status.ManifestStatuses[0].Health)
			}
			if tc.changed == "" {
				return
			}
			next := *live
			next.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(
				`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"nginx"},"spec":{"replicas":3}}`)}}}
			if _, err := h.CommitWork(ctx, live, &next); err != nil {
				t.Fatal(err)
			}
			if _, err := stage.Handle(ctx, e); err != nil {
				t.Fatal(err)
			}
			if again := h.LiveWork(w.Key).Status.Applied; *again == *live.Status.Applied || again.Changed != tc.changed || admits.applied != 2 {
				t.Errorf("applied %d times, it records %v, and before that %v", admits.applied, again, live.Status.Applied)
			}
		})
	}
}
