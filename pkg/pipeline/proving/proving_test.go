// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package proving_test

import (
	"encoding/json"
	"testing"
	"time"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/proving"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// A binding leaves m1 out for m2: so the object leaves m1. Once m2 has left, no cluster
// satisfies the placement, and that takes nothing from anybody.
func TestWhatIsLeftOutForAClusterThatLeftStays(t *testing.T) {
	for sentence, tc := range map[string]struct {
		joined []string
		left   bool
	}{
		"the object leaves m1 for m2":               {joined: []string{"m1", "m2"}, left: true},
		"m2 has left before the object left m1":     {joined: []string{"m1"}},
		"m2 has left, and another cluster is there": {joined: []string{"m1", "m3"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			for _, c := range tc.joined {
				h.Join(c)
			}
			key := fixture.Deployment("nginx").Template().Key
			h.Apply(key, func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": int64(1)} })
			b := &propagation.Binding{Key: propagation.BindingOf(key), Annotations: map[string]string{propagation.AnnotationContentHash: h.Live(key).Hash}}
			b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: key.APIVersion, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, UID: h.Live(key).UID}
			b.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}}}
			b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m2"}}
			if _, err := h.CommitBinding(t.Context(), nil, b); err != nil {
				t.Fatal(err)
			}
			template, err := json.Marshal(key)
			if err != nil {
				t.Fatal(err)
			}
			w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: propagation.WorkName(b.Key)}, Deleting: true, Annotations: map[string]string{
				propagation.AnnotationTemplate: string(template), propagation.AnnotationTemplateUID: string(h.Live(key).UID),
			}}
			evidence, err := proving.Of(t.Context(), h, w, fixture.Start)
			if err != nil {
				t.Fatal(err)
			}
			evidence.Others = applying.Have(applying.Others{})
			if f := applying.Examine(evidence); f.Proof.Holds() != tc.left {
				t.Errorf("it leaves: %t, want %t: %s %s", f.Proof.Holds(), tc.left, f.Reason, f.Message)
			}
		})
	}
}
