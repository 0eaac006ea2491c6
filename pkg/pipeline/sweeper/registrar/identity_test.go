// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package registrar

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

func (f *fleet) IdentifyCluster(_ context.Context, c *clusterv1alpha1.Cluster, id string) (*clusterv1alpha1.Cluster, error) {
	f.note("identity of cluster")
	next := c.DeepCopy()
	next.Spec.ID = id
	f.cluster = next
	return next, nil
}

// A Cluster that was made without an identity gets that of its member, once; a member that
// does not say who it is is not asked again and again.
func TestAClusterSaysWhoItsMemberIs(t *testing.T) {
	for sentence, tc := range map[string]struct {
		has, says string
		refuses   bool
		want      string
		asked     int // in two minutes of sweeps
	}{
		"it has none":                       {says: "a", want: "a", asked: 1},
		"somebody said it":                  {has: "b", says: "a", want: "b"},
		"the member does not say who it is": {asked: 3},
		"the member cannot be asked":        {refuses: true, asked: 3},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := &fleet{cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1"}, Spec: clusterv1alpha1.ClusterSpec{ID: tc.has}}}
			now, asked := began, 0
			r := New(f, func(context.Context, string) (string, error) { return "v1.36.3", nil }, func() time.Time { return now }).
				Identifying(f, func(context.Context, string) (string, error) {
					asked++
					if tc.refuses {
						return "", errors.New("forbidden")
					}
					return tc.says, nil
				})
			last := time.Time{}
			for ; now.Before(began.Add(2 * time.Minute)); now = now.Add(2 * time.Second) {
				if err := r.report(t.Context(), f.cluster, r.ask(t.Context(), "member1", last), events.From(tick.Stage, event.New())); err != nil {
					t.Fatal(err)
				}
				last = now
			}
			if f.cluster.Spec.ID != tc.want || asked != tc.asked {
				t.Errorf("it is %q after %d questions, want %q after %d", f.cluster.Spec.ID, asked, tc.want, tc.asked)
			}
		})
	}
}
