// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/scheduler"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// Replicas that find no room wait, which the binding says once; that there is room brings
// them there, and after that room has no say, however often the event comes.
func TestReplicasWaitForRoom(t *testing.T) {
	const clusters, condition = "patch binding shop/nginx-deployment", "update status of binding shop/nginx-deployment"
	h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
	container := map[string]any{"name": "nginx", "resources": map[string]any{"requests": map[string]any{"cpu": "1"}}}
	template := fixture.Deployment("nginx").Replicas(4).Spec("template", map[string]any{"spec": map[string]any{"containers": []any{container}}})
	p := fixture.Policy("p").To("m1", "m2").Dividing(policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted,
		WeightPreference: &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas},
	})
	key := template.Template().Key
	bound := propagation.BindingOf(key)
	if _, err := h.CommitBinding(t.Context(), nil, gating.Decide(gating.Input{Template: template.ClaimedBy(p).Template(), Policy: p.Policy()}).Next); err != nil {
		t.Fatal(err)
	}
	h.Join("m1")
	h.Join("m2")
	left := func(cpu ...string) {
		t.Helper()
		all, err := h.Clusters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range all {
			free := resource.MustParse(cpu[i])
			free.Add(resource.MustParse("1"))
			status := clusterv1alpha1.ClusterStatus{ResourceSummary: &clusterv1alpha1.ResourceSummary{
				Allocatable: corev1.ResourceList{corev1.ResourceCPU: free}, Allocated: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			}}
			if err := h.CommitClusterStatus(t.Context(), c, status); err != nil {
				t.Fatal(err)
			}
		}
	}
	var writes []string
	stage := scheduler.New(h, h, nil, h, func() time.Time { return fixture.Start })
	handle := func(want []workv1alpha2.TargetCluster, wrote ...string) {
		t.Helper()
		writes = nil
		h.Wrote = func(_ context.Context, w pipelinetest.Write) { writes = append(writes, w.String()) }
		defer func() { h.Wrote = nil }()
		e, err := events.New("gate", event.Event{}, events.BindingActivated, events.Data{Template: &key, Binding: &bound})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stage.Handle(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, h.LiveBinding(bound).Spec.Clusters); d != "" {
			t.Errorf("clusters (-want +got):\n%s", d)
		}
		if d := cmp.Diff(wrote, writes); d != "" {
			t.Errorf("writes (-want +got):\n%s", d)
		}
	}
	left("1", "2")
	handle(nil, condition)
	handle(nil)
	left("1", "3")
	there := []workv1alpha2.TargetCluster{{Name: "m1", Replicas: 1}, {Name: "m2", Replicas: 3}}
	handle(there, clusters, condition)
	left("0", "0")
	handle(there)
	left("9", "0")
	handle(there)
}
