// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// admitting is a member whose admission changes fields, and which counts what is applied.
type admitting struct {
	*pipelinetest.Member
	changes map[string]string
	applied int
}

func (a *admitting) Write(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any, live *applying.Observed) (*applying.Observed, error) {
	now, err := a.Member.Write(ctx, w, hub, manifest, live)
	return a.admit(manifest, now, err)
}

func (a *admitting) Create(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any) (*applying.Observed, error) {
	now, err := a.Member.Create(ctx, w, hub, manifest)
	return a.admit(manifest, now, err)
}

func (a *admitting) admit(manifest map[string]any, now *applying.Observed, err error) (*applying.Observed, error) {
	a.applied++
	if err == nil {
		now.Changed = a.changes[propagation.KeyOf(manifest).Name]
	}
	return now, err
}

// What the member's admission changes is told of once and stays told, is not applied
// again, and is over when it is applied and not changed.
func TestWhatAdmissionChangesIsToldOfOnce(t *testing.T) {
	b := secretBrought(t)
	b.keep(propagation.Contents{b.hash: b.whole})
	now, m := fixture.Start, &admitting{Member: b.member, changes: map[string]string{"token": "data.k"}}
	b.stage = applier.New(b.hub, open{}, func(context.Context, string) (applier.Member, error) { return m, nil }, func() time.Time { return now })
	said, told := 0, 0
	b.hub.Wrote = func(context.Context, pipelinetest.Write) { said++ }
	b.hub.Recorded = func(_ hub.About, reason, message string) {
		if reason == "ChangedByAdmission" && strings.Contains(message, b.key.String()+" in m1") && strings.Contains(message, "data.k") {
			told++
		}
	}
	want := func(when string, wantApplied, wantSaid, wantTold int, is bool) {
		t.Helper()
		w := b.hub.LiveWork(b.work)
		c, a := applying.FieldsContested(w), meta.FindStatusCondition(w.Status.Conditions, "Applied")
		if m.applied != wantApplied || said != wantSaid || told != wantTold || (c != nil) != is || a == nil || (a.Message == reporting.MessageChanged) != is {
			t.Errorf("%s: applied %d times, %d writes to the Work, %d events, says %v and %v; want %d, %d, %d, %v", when, m.applied, said, told, c, a, wantApplied, wantSaid, wantTold, is)
		}
	}
	b.apply("")
	want("applied", 1, 1, 1, true)
	for range 3 {
		now = now.Add(applying.FightWithin)
		b.apply("")
	}
	want("looked at again", 1, 1, 1, true)
	now = now.Add(applying.FightWithin)
	b.member.Spoil(b.key)
	b.apply("")
	want("corrected, and changed again", 2, 1, 1, true)
	m.changes = nil
	b.member.Spoil(b.key)
	b.apply("")
	want("corrected, and not changed", 3, 2, 1, false)
}

// The Work of a placement says so of each of its objects, also of those that it only looks
// at.
func TestWhatAdmissionChangesOfAPlacementIsTold(t *testing.T) {
	now := fixture.Start
	b, m, _, w := placedIn(t, func() time.Time { return now }, "one", "two")
	admits := &admitting{Member: m, changes: map[string]string{"one": "data.x", "two": "data.y"}}
	stage := applier.New(b, open{}, func(context.Context, string) (applier.Member, error) { return admits, nil }, func() time.Time { return now }).Sequential()
	handle := func() string {
		t.Helper()
		now = now.Add(applying.FightWithin)
		if _, err := stage.Handle(t.Context(), renderedFor(t, w.Key)); err != nil {
			t.Fatal(err)
		}
		if c := applying.FieldsContested(b.LiveWork(w.Key)); c != nil && c.Reason == applying.ReasonChangedByAdmission {
			return c.Message
		}
		return ""
	}
	two := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "two"}
	both := handle()
	if !strings.Contains(both, "data.x") || !strings.Contains(both, two.String()+" in m1") || !strings.Contains(both, "data.y") {
		t.Errorf("it says %q", both)
	}
	admits.changes = nil
	if again := handle(); again != both || admits.applied != 2 {
		t.Errorf("looked at again, it says %q, and applied %d times", again, admits.applied)
	}
	m.Spoil(two)
	if one := handle(); !strings.Contains(one, "data.x") || strings.Contains(one, "data.y") {
		t.Errorf("when one of them is not changed any more, it says %q", one)
	}
}
