// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/sweeper"
	"sluice.dev/pkg/pipeline/sweeper/replay"
)

// joining is a hub that a cluster joins.
type joining struct{ hubOf }

func (*joining) Cluster(_ context.Context, name string) (*clusterv1alpha1.Cluster, error) {
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	return c, nil
}

func (*joining) EnsureNamespace(context.Context, string) error { return nil }

// Who joins is told of by a source before the next tick.
func TestASourceIsGivenToWhoJoins(t *testing.T) {
	for cause, want := range map[string]bool{events.ResourceAdded: true, events.ResourceUpdated: false} {
		h := &joining{}
		sources := restarting(0)
		s := sweeper.New(h, nil, &memory{all: map[string]string{}}, nil, time.Now).Replaying(replay.New(h, indexOf{}, &memory{all: map[string]string{}}, &sources, nil, time.Now))
		e, err := events.NewResource("hub", cause, events.Object{TemplateKey: propagation.TemplateKey{APIVersion: "cluster.karmada.io/v1alpha1", Kind: "Cluster", Name: "m9"}, Version: "1"})
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Handle(t.Context(), e)
		if got := slices.ContainsFunc(out, func(e event.Event) bool { return e.Type() == events.SourcesChanged }); got != want || err != nil {
			t.Errorf("%s: the sources are looked after: %t, %v", cause, got, err)
		}
	}
}
