// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// roomy is a hub with one cluster, of whose 4 CPUs that much is taken.
type roomy struct {
	Hub
	taken string
}

func (r roomy) Clusters(context.Context) ([]*clusterv1alpha1.Cluster, error) {
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}
	c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
		Allocated:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(r.taken)},
	}
	return []*clusterv1alpha1.Cluster{c}, nil
}

func TestWhatFindsRoomIsAnnounced(t *testing.T) {
	binding := func(preference policyv1alpha1.ReplicaDivisionPreference, scheduled metav1.ConditionStatus, runs ...workv1alpha2.TargetCluster) *propagation.Binding {
		return &propagation.Binding{
			Key: propagation.BindingKey{Namespace: "shop", Name: "nginx-deployment"},
			Spec: workv1alpha2.ResourceBindingSpec{
				Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx", UID: "1"},
				Replicas: 3, Clusters: runs,
				ReplicaRequirements: &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
				Placement: &policyv1alpha1.Placement{ReplicaScheduling: &policyv1alpha1.ReplicaSchedulingStrategy{
					ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: preference,
				}},
			},
			Status: workv1alpha2.ResourceBindingStatus{Conditions: []metav1.Condition{{Type: workv1alpha2.ConditionScheduled, Status: scheduled}}},
		}
	}
	const few, weighted = policyv1alpha1.ReplicaDivisionPreferenceAggregated, policyv1alpha1.ReplicaDivisionPreferenceWeighted
	for name, tc := range map[string]struct {
		binding *propagation.Binding
		taken   string
		want    []string
	}{
		"there is none yet":                        {binding: binding(few, metav1.ConditionFalse), taken: "3"},
		"there is some":                            {binding: binding(few, metav1.ConditionFalse), taken: "1", want: []string{"RoomFound"}},
		"there is enough for what is to be added":  {binding: binding(few, metav1.ConditionFalse, workv1alpha2.TargetCluster{Name: "m1", Replicas: 1}), taken: "2", want: []string{"RoomFound"}},
		"it is scheduled, or on its way":           {binding: binding(few, metav1.ConditionTrue), taken: "1"},
		"its replicas are not divided by room":     {binding: binding(weighted, metav1.ConditionFalse), taken: "1"},
		"where all of it runs nobody looks for it": {binding: binding(few, metav1.ConditionFalse, workv1alpha2.TargetCluster{Name: "m1", Replicas: 3}), taken: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			at := map[string]string{}
			now := tick.New(event.New(), at, time.Time{})
			if err := New(roomy{taken: tc.taken}, nil, nil).roomless(t.Context(), now, Books{Page: page.All([]*propagation.Binding{tc.binding})}); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range told(t, now, at) {
				got = append(got, e.Extensions()["reason"].(string))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("announced (-want +got):\n%s", diff)
			}
		})
	}
}
