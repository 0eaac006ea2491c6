// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"strings"
	"testing"
	"time"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/test/pipelinetest/fixture"
)

// An object that another hub took over is not taken back, whatever the strategy, and the
// message does not ask for another one.
func TestZ26WhatIsLostToAnotherHubIsSaidToBe(t *testing.T) {
	clock := func() time.Time { return fixture.Start }
	hub, m, _, w := placedIn(t, clock, "cm")
	stage := applier.New(hub, open{}, func(context.Context, string) (applier.Member, error) { return m, nil }, clock)
	eager := *w
	eager.Strategy = &placementv1.ApplyStrategy{WhenToTakeOver: placementv1.WhenToTakeOverTypeAlways}
	if _, err := hub.CommitWork(t.Context(), w, &eager); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := stage.Handle(t.Context(), renderedFor(t, w.Key)); err != nil {
			t.Fatal(err)
		}
		for _, o := range m.Objects() {
			o.Hub = "another"
		}
	}
	now, err := hub.WorkNow(t.Context(), w.Key)
	if err != nil {
		t.Fatal(err)
	}
	var said string
	for _, r := range now.Results {
		for _, c := range r.Conditions {
			said += c.Message
		}
	}
	if !strings.Contains(said, member.HowToTakeBack) || strings.Contains(said, "Never") {
		t.Errorf("the Work says %q", said)
	}
}
