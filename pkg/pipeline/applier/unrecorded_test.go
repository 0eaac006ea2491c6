// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

var errEnded = errors.New("the process ended")

// ended is a hub to which a process that ended writes no results.
type ended struct{ *pipelinetest.Hub }

func (ended) CommitWorkResults(context.Context, *propagation.Work, placementv1.WorkStatus) (*propagation.Work, error) {
	return nil, errEnded
}

// without is a member that does not serve the kinds of objects.
type without struct{ *pipelinetest.Member }

func (without) Look(context.Context, member.Ref, member.Looking) (applying.Read[*applying.Observed], error) {
	return applying.Read[*applying.Observed]{Answer: applying.NotServed}, nil
}

// C102: what a member has of a placement leaves with it, recorded or not.
func TestC102WhatWasNotRecordedLeavesWithItsPlacement(t *testing.T) {
	for sentence, tc := range map[string]struct {
		applies  bool
		theirs   bool
		unserved bool
		left     int
	}{
		"whoever applied it ended before that was recorded": {applies: true},
		"nobody applied it":             {},
		"what is somebody else's stays": {theirs: true, left: 1},
		"a kind that the member does not serve is waited for by nobody": {unserved: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			clock := func() time.Time { return fixture.Start }
			hub, m, p, w := heldIn(t, clock, "a", "b")
			if tc.theirs {
				m.Plant(member.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "a"}, map[string]any{"metadata": map[string]any{"namespace": "shop", "name": "a"}})
			}
			reach := func(context.Context, string) (applier.Member, error) {
				if tc.unserved {
					return without{m}, nil
				}
				return m, nil
			}
			if tc.applies {
				stage := applier.New(ended{hub}, open{}, reach, clock).Sequential()
				if _, err := stage.Handle(t.Context(), renderedFor(t, w.Key)); !errors.Is(err, errEnded) || len(m.Objects()) != 2 {
					t.Fatalf("the member has %d objects, and it ends with %v", len(m.Objects()), err)
				}
			}
			going := p.DeepCopy()
			going.DeletionTimestamp = new(metav1.NewTime(fixture.Start))
			hub.Put(going)
			if err := hub.DeleteWork(t.Context(), hub.LiveWork(w.Key)); err != nil {
				t.Fatal(err)
			}
			if _, err := applier.New(hub, open{}, reach, clock).Sequential().Handle(t.Context(), renderedFor(t, w.Key)); err != nil {
				t.Fatal(err)
			}
			if n, live := len(m.Objects()), hub.LiveWork(w.Key); n != tc.left || live != nil {
				t.Errorf("the member has %d objects, want %d; the Work is %+v", n, tc.left, live)
			}
		})
	}
}
