// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

func TestWhatIsNotRenderedInTwoSweepsIsAnnounced(t *testing.T) {
	bound := func(version string, change ...func(*propagation.Binding)) *propagation.Binding {
		b := &propagation.Binding{
			Key: propagation.BindingKey{Namespace: "shop", Name: "nginx-deployment"}, ResourceVersion: version,
			Annotations: map[string]string{propagation.AnnotationContentHash: "h", propagation.AnnotationRevision: "r2"},
			Spec: workv1alpha2.ResourceBindingSpec{
				Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx", UID: "1"},
				Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}, {Name: "m2"}},
			},
		}
		for _, c := range change {
			c(b)
		}
		return b
	}
	failed := func(b *propagation.Binding) {
		b.Status.Conditions = []metav1.Condition{{Type: rendering.ConditionRendered, Status: metav1.ConditionFalse}}
	}
	taken := func(b *propagation.Binding) {
		b.Status.Conditions = []metav1.Condition{{Type: rendering.ConditionRendered, Status: metav1.ConditionFalse, Reason: rendering.ReasonWorkNameTaken}}
	}
	teams := func(b *propagation.Binding) { b.Spec.SchedulerName = "team" }
	pending := func(b *propagation.Binding) { b.Annotations = nil }
	suspended := func(b *propagation.Binding) {
		b.Spec.Suspension = &workv1alpha2.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: []string{"m3"}}}
	}
	names := func(cluster string) func(*propagation.Binding) {
		return func(b *propagation.Binding) {
			b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1"}, {ClusterName: cluster}}
		}
	}
	nowhere := func(b *propagation.Binding) { b.Spec.Placement, b.Spec.Clusters = &policyv1alpha1.Placement{}, nil }
	awaiting := func(b *propagation.Binding) { b.Spec.Resource.UID = "" }
	made := func(cluster, revision string) *propagation.Work {
		return &propagation.Work{
			Key:         propagation.WorkKey{Cluster: cluster, Name: propagation.WorkName(bound("").Key)},
			Annotations: map[string]string{propagation.AnnotationRevision: revision},
		}
	}
	leaving := func(w *propagation.Work) *propagation.Work {
		w.Deleting = true
		return w
	}
	others := func(w *propagation.Work) *propagation.Work {
		w.Annotations[propagation.AnnotationClusterBindingName] = "another"
		return w
	}
	formerly := func(w *propagation.Work) *propagation.Work {
		w.Key.Name = propagation.FormerWorkName(bound("").Key)
		return w
	}
	for name, tc := range map[string]struct {
		first, second *propagation.Binding
		works         []*propagation.Work
		joined        []string
		want          string
	}{
		"a Work is missing":                                             {bound("1"), bound("1"), []*propagation.Work{made("m1", "r2")}, []string{"m1", "m2"}, events.TemplateTouched},
		"a Work is of older content":                                    {bound("1"), bound("1"), []*propagation.Work{made("m1", "r2"), made("m2", "r1")}, []string{"m1", "m2"}, events.TemplateTouched},
		"a Work is missing where a team's scheduler chose":              {bound("1", teams), bound("1", teams), []*propagation.Work{made("m1", "r2")}, []string{"m1", "m2"}, events.BindingScheduled},
		"Z34: a Work of the former name serves":                         {bound("1"), bound("1"), []*propagation.Work{made("m1", "r2"), formerly(made("m2", "r2"))}, []string{"m1", "m2"}, ""},
		"Z34: a Work is there twice":                                    {bound("1"), bound("1"), []*propagation.Work{made("m1", "r2"), made("m2", "r2"), formerly(made("m2", "r2"))}, []string{"m1", "m2"}, events.TemplateTouched},
		"all are there":                                                 {bound("1"), bound("1"), []*propagation.Work{made("m1", "r2"), made("m2", "r2")}, []string{"m1", "m2"}, ""},
		"a Work is in a cluster that is left out":                       {bound("1"), bound("1"), []*propagation.Work{made("m1", "r2"), made("m2", "r2"), made("m3", "r1")}, []string{"m1", "m2", "m3"}, events.BindingScheduled},
		"so is one of the former name":                                  {bound("1"), bound("1"), []*propagation.Work{made("m1", "r2"), made("m2", "r2"), formerly(made("m3", "r2"))}, []string{"m1", "m2", "m3"}, events.BindingScheduled},
		"it is being deleted":                                           {bound("1"), bound("1"), []*propagation.Work{made("m1", "r2"), made("m2", "r2"), leaving(made("m3", "r2"))}, []string{"m1", "m2", "m3"}, ""},
		"it is suspended there":                                         {bound("1", suspended), bound("1", suspended), []*propagation.Work{made("m1", "r2"), made("m2", "r2"), made("m3", "r2")}, []string{"m1", "m2", "m3"}, ""},
		"it is another binding's":                                       {bound("1"), bound("1"), []*propagation.Work{made("m1", "r2"), made("m2", "r2"), others(made("m3", "r2"))}, []string{"m1", "m2", "m3"}, ""},
		"no cluster satisfies the placement":                            {bound("1", nowhere), bound("1", nowhere), []*propagation.Work{made("m1", "r2")}, []string{"m1", "m2"}, ""},
		"somebody wrote the binding in between":                         {bound("1"), bound("2"), []*propagation.Work{made("m1", "r2")}, []string{"m1", "m2"}, ""},
		"the cluster left":                                              {bound("1"), bound("1"), []*propagation.Work{made("m1", "r2")}, []string{"m1"}, ""},
		"its status names one that left":                                {bound("1", names("m3")), bound("1", names("m3")), []*propagation.Work{made("m1", "r2"), made("m2", "r2")}, []string{"m1", "m2"}, events.WorkFailed},
		"its status names one that left, and nothing is to be rendered": {bound("1", failed, names("m3")), bound("1", failed, names("m3")), nil, []string{"m1", "m2"}, events.WorkFailed},
		"its status names one of its clusters that left":                {bound("1", names("m2")), bound("1", names("m2")), []*propagation.Work{made("m1", "r2")}, []string{"m1"}, events.WorkFailed},
		"its status names one that is joined":                           {bound("1", names("m3")), bound("1", names("m3")), []*propagation.Work{made("m1", "r2"), made("m2", "r2")}, []string{"m1", "m2", "m3"}, ""},
		"its status names one that is no name":                          {bound("1", names("../m3")), bound("1", names("../m3")), []*propagation.Work{made("m1", "r2"), made("m2", "r2")}, []string{"m1", "m2"}, ""},
		"its manifest cannot be made":                                   {bound("1", failed), bound("1", failed), nil, []string{"m1", "m2"}, ""},
		"Z34: another binding's Work has the name":                      {bound("1", taken), bound("1", taken), []*propagation.Work{others(made("m1", "r2")), made("m2", "r2")}, []string{"m1", "m2"}, ""},
		"Z34: another binding's Work that had the name is gone":         {bound("1", taken), bound("1", taken), []*propagation.Work{made("m2", "r2")}, []string{"m1", "m2"}, events.TemplateTouched},
		"nothing was let through yet":                                   {bound("1", pending), bound("1", pending), nil, []string{"m1", "m2"}, ""},
		"there is no template, others refer to it":                      {bound("1", awaiting), bound("1", awaiting), nil, []string{"m1", "m2"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			at, ready, here := map[string]string{}, map[string]bool{}, map[string]bool{}
			for _, c := range tc.joined {
				ready[c], here[c] = false, true // joined, and down
			}
			for i, b := range []*propagation.Binding{tc.first, tc.second} {
				now := tick.New(event.New(), at, time.Time{})
				books := Books{Page: page.All([]*propagation.Binding{b}), Works: tc.works, Ready: ready, Here: here}
				if err := New(nil, nil, nil).unrendered(t.Context(), now, books); err != nil {
					t.Fatal(err)
				}
				all := told(t, now, at)
				var got []string
				for _, e := range all {
					got = append(got, e.Type())
				}
				if want := []string{tc.want}[:min(i, len(tc.want))]; !slices.Equal(got, want) {
					t.Errorf("sweep %d announces %v, want %v", i+1, got, want)
				}
			}
		})
	}
}
