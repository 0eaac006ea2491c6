// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/scheduler"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// The scheduler picks the clusters of a binding that is in force, writes them where
// they are others, and tells of the binding as it is then.
func TestScheduler(t *testing.T) {
	const write, condition = "patch binding shop/nginx-deployment", "update status of binding shop/nginx-deployment"
	for name, tc := range map[string]struct {
		to       []string // what the policy asks for; nil: there is no binding
		joined   []string
		twice    bool // the event comes again
		lost     bool // somebody else writes first
		clusters []string
		writes   []string
		tells    []string
		fails    bool
	}{
		"the clusters of the placement are picked": {
			to: []string{"m1", "m3"}, joined: []string{"m1", "m2", "m3"}, clusters: []string{"m1", "m3"}, writes: []string{write}, tells: []string{events.BindingScheduled},
		},
		"the same event again writes nothing, and tells the same": {
			to: []string{"m1"}, joined: []string{"m1"}, twice: true, clusters: []string{"m1"}, writes: []string{write}, tells: []string{events.BindingScheduled, events.BindingScheduled},
		},
		"a cluster that has not joined is none, which the binding says": {
			to: []string{"m1", "m9"}, joined: []string{"m1"}, clusters: []string{"m1"}, writes: []string{write, condition}, tells: []string{events.BindingScheduled},
		},
		"where no cluster fits, the binding says so, and nothing moves": {
			to: []string{"m9"}, joined: []string{"m1"}, writes: []string{condition}, tells: []string{events.BindingScheduled},
		},
		"a binding that is gone is nobody's": {joined: []string{"m1"}},
		"a race that was lost is a conflict, and nothing is told": {
			to: []string{"m1"}, joined: []string{"m1"}, lost: true, fails: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			for _, c := range tc.joined {
				h.Join(c)
			}
			key := fixture.Deployment("nginx").Template().Key
			if tc.to != nil {
				p := fixture.Policy("p").To(tc.to...)
				if _, err := h.CommitBinding(t.Context(), nil, gating.Decide(gating.Input{Template: fixture.Deployment("nginx").ClaimedBy(p).Template(), Policy: p.Policy()}).Next); err != nil {
					t.Fatal(err)
				}
			}
			var writes, tells []string
			h.Wrote = func(_ context.Context, w pipelinetest.Write) { writes = append(writes, w.String()) }
			h.Ask = func(_ context.Context, r pipelinetest.Request) error {
				if tc.lost && r.Writes() {
					return outcome.Conflict(context.DeadlineExceeded)
				}
				return nil
			}
			bound := propagation.BindingOf(key)
			e, err := events.New("gate", event.Event{}, events.BindingActivated, events.Data{Template: &key, Binding: &bound})
			if err != nil {
				t.Fatal(err)
			}
			stage := scheduler.New(h, h, nil, h, func() time.Time { return fixture.Start })
			for range map[bool]int{false: 1, true: 2}[tc.twice] {
				out, err := stage.Handle(t.Context(), e)
				if outcome.IsConflict(err) != tc.fails || err != nil && !tc.fails {
					t.Fatal(err)
				}
				for _, o := range out {
					tells = append(tells, o.Type())
				}
			}
			var clusters []string
			if b := h.LiveBinding(bound); b != nil {
				clusters = b.TargetClusters()
			}
			slices.Sort(clusters)
			for what, d := range map[string]string{"clusters": cmp.Diff(tc.clusters, clusters), "writes": cmp.Diff(tc.writes, writes), "events": cmp.Diff(tc.tells, tells)} {
				if d != "" {
					t.Errorf("%s (-want +got):\n%s", what, d)
				}
			}
		})
	}
}
