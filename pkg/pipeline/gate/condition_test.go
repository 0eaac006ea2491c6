// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/gate"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// Many templates of one policy change together: what the reporter says of each of them in
// a moment, with the rest, the gate leaves to it.
func TestWhoSaysWhatIsInForce(t *testing.T) {
	const was, is = "policy shop/p, generation 1 is in force", "policy shop/p, generation 2 is in force"
	for name, tt := range map[string]struct {
		clusters []workv1alpha2.TargetCluster
		active   metav1.ConditionStatus
		lazy     bool
		want     string
	}{
		"what is in force by another form is left to the reporter": {
			clusters: []workv1alpha2.TargetCluster{{Name: "m1"}}, active: metav1.ConditionTrue, want: "True: " + was,
		},
		"where there is no cluster nobody else says it": {active: metav1.ConditionTrue, want: "True: " + is},
		"that nothing waits any more is said at once": {
			clusters: []workv1alpha2.TargetCluster{{Name: "m1"}}, active: metav1.ConditionFalse, want: "True: " + is,
		},
		"that something waits is said at once": {
			clusters: []workv1alpha2.TargetCluster{{Name: "m1"}}, active: metav1.ConditionTrue, lazy: true,
			want: "False: policy shop/p, generation 2, waits until the template changes; in force is policy shop/p, generation 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, now := t.Context(), func() time.Time { return fixture.Start }
			h := pipelinetest.NewHub(pipelinetest.Options{Now: now})
			s := gate.New(h, now)
			key := fixture.Deployment("nginx").Template().Key
			h.Apply(key, func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": int64(1)} })
			policy := fixture.Policy("p").To("m1").Policy()
			h.PutPolicy(policy.Key, policy.Spec)
			policy = h.LivePolicy(policy.Key)
			_, err := h.CommitClaim(ctx, h.Live(key), policy.Claim(), "")
			must(t, err)
			must(t, deliver(ctx, s, key, policy.Key))

			b := h.LiveBinding(propagation.BindingOf(key))
			next := *b
			next.Spec.Clusters = tt.clusters
			b, err = h.CommitBinding(ctx, b, &next)
			must(t, err)
			_, err = h.CommitBindingStatus(ctx, b, workv1alpha2.ResourceBindingStatus{Conditions: []metav1.Condition{
				{Type: gating.ConditionActive, Status: tt.active, Reason: "Was", Message: was},
			}})
			must(t, err)
			changed := fixture.Policy("p").To("m1", "m2")
			if tt.lazy {
				changed = changed.Lazy()
			}
			h.PutPolicy(policy.Key, changed.Policy().Spec)
			must(t, deliver(ctx, s, key, policy.Key))

			c := h.LiveBinding(b.Key).Status.Conditions[0]
			if diff := cmp.Diff(tt.want, string(c.Status)+": "+c.Message); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
