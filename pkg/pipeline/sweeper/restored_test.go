// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/redis/claims"
)

// aging is a crowded hub that comes to other versions.
type aging struct {
	crowded
	version uint64
	// away: the last sweep did not reach m1.
	away bool
}

func (a *aging) Version(context.Context) (uint64, error) { return a.version, nil }

// rebuilt is a Redis that forgets its positions when it is built anew.
type rebuilt struct {
	built
	at     *memory
	resets int
}

func (r *rebuilt) Reset(context.Context) error {
	r.resets++
	clear(r.at.all)
	return nil
}

func (r *rebuilt) Rebuild(context.Context, func(context.Context, *claims.Rebuild) error) error {
	return nil
}

// CommitClusterStatus takes what is said of m1.
func (a *aging) CommitClusterStatus(context.Context, *clusterv1alpha1.Cluster, clusterv1alpha1.ClusterStatus) error {
	a.away = false
	return nil
}

// Clusters are m1 and m2; m1 may have been away.
func (a *aging) Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error) {
	all, err := a.crowded.Clusters(ctx)
	if a.away {
		all[0].Status.Conditions[0].Status = metav1.ConditionFalse
	}
	return all, err
}

// restoring are the stage, its hub with two Works that are applied, and its Redis.
func restoring() (*Stage, *aging, *rebuilt) {
	a := &aging{crowded: crowded{clusters: []string{"m1", "m2"}}}
	applied := []metav1.Condition{{Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionTrue, ObservedGeneration: 1}}
	a.add("a", time.Hour, applied, "m1", "m2")
	redis := &rebuilt{at: &memory{all: map[string]string{}}}
	return New(a, redis, redis.at, func(context.Context, string) (string, error) { return "", nil }, func() time.Time { return noon }), a, redis
}

// looked are the Works that the stage has looked at because of an event.
func looked(t *testing.T, s *Stage, e event.Event) (works []string) {
	t.Helper()
	out, err := s.Handle(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range out {
		d, err := events.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		if d.Reason == events.ReasonRevisited {
			works = append(works, d.Work.Cluster+"/"+d.Work.Name)
		}
	}
	return works
}

func aTick() event.Event {
	e := event.New()
	e.SetID("tick")
	e.SetType(events.Ping)
	e.SetSource("test")
	return e
}

func TestZ21TheHubGoesBack(t *testing.T) {
	both := []string{"m1/a", "m2/a"}
	for sentence, tc := range map[string]struct {
		versions   []uint64 // of the hub, at each tick
		wantResets int      // of Redis
		want       []string // what the last tick has looked at
	}{
		"who comes to a hub for the first time looks at nothing": {versions: []uint64{7}},
		"a hub at rest is as it was":                             {versions: []uint64{7, 7}},
		"a hub at work has gone on":                              {versions: []uint64{7, 9}},
		"a hub that went back has all built anew, and looked at": {versions: []uint64{9, 7}, wantResets: 1, want: both},
		"that is done once":                                      {versions: []uint64{9, 7, 7, 8}, wantResets: 1},
		"it may go back again":                                   {versions: []uint64{9, 7, 8, 6}, wantResets: 2, want: both},
	} {
		t.Run(sentence, func(t *testing.T) {
			s, a, redis := restoring()
			var got []string
			for _, a.version = range tc.versions {
				got = looked(t, s, aTick())
			}
			if d := cmp.Diff(tc.want, got); d != "" || redis.resets != tc.wantResets {
				t.Errorf("%d resets, want %d; looked at (-want +got)\n%s", redis.resets, tc.wantResets, d)
			}
		})
	}
}

// Redis would take the suspension of a policy for an old one until the next tick.
func TestZ21APolicyTellsOfItBeforeTheTick(t *testing.T) {
	s, a, redis := restoring()
	a.version = 9
	looked(t, s, aTick())
	a.version = 7
	version, kind := hub.PolicyKinds()[0].ToAPIVersionAndKind()
	e, err := events.NewResource(events.Source("test"), events.ResourceUpdated, events.Object{
		TemplateKey: propagation.TemplateKey{APIVersion: version, Kind: kind, Namespace: "shop", Name: "p"},
	})
	if err != nil {
		t.Fatal(err)
	}
	looked(t, s, e)
	if redis.resets != 1 {
		t.Errorf("Redis was built anew %d times", redis.resets)
	}
	if d := cmp.Diff([]string{"m1/a", "m2/a"}, looked(t, s, aTick())); d != "" {
		t.Errorf("the tick looks at (-want +got)\n%s", d)
	}
}

// A member that was away may have been restored, of which nobody tells.
func TestZ22AMemberThatWasAwayIsLookedAt(t *testing.T) {
	s, a, _ := restoring()
	a.version, a.away = 7, true
	if d := cmp.Diff([]string{"m1/a"}, looked(t, s, aTick())); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if again := looked(t, s, aTick()); again != nil {
		t.Errorf("the next tick looks at %v", again)
	}
}
