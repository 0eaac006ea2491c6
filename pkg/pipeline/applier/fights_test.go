// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// dated is a member that says when Sluice changed an object last.
type dated struct {
	*pipelinetest.Member
	at time.Time
}

func (d *dated) Look(ctx context.Context, ref member.Ref, how member.Looking) (applying.Read[*applying.Observed], error) {
	live, err := d.Member.Look(ctx, ref, how)
	if live.Answer == applying.Found {
		live.Value.At = d.at
	}
	return live, err
}

// Somebody who changes an object back each time is told of with the fifth correction,
// once, and until nobody corrected it for a while.
func TestAFightIsToldOfOnce(t *testing.T) {
	b := secretBrought(t)
	b.keep(propagation.Contents{b.hash: b.whole})
	now, m := fixture.Start, &dated{Member: b.member}
	process := func() *applier.Stage {
		return applier.New(b.hub, open{}, func(context.Context, string) (applier.Member, error) { return m, nil }, func() time.Time { return now })
	}
	one, other := process(), process()
	said, told, corrections, ahead := 0, 0, 0, time.Duration(0)
	b.hub.Wrote = func(context.Context, pipelinetest.Write) { said++ }
	b.hub.Recorded = func(_ hub.About, reason, _ string) {
		if reason == "FieldManagerConflict" {
			told++
		}
	}
	b.member.Wrote = func(context.Context, pipelinetest.MemberWrite) { corrections++; m.at = now.Add(ahead) }
	handle := func(stage *applier.Stage, reason string) {
		t.Helper()
		binding := propagation.BindingOf(b.key)
		e, err := events.New("test", event.New(), events.WorkRendered, events.Data{Template: &b.key, Binding: &binding, Work: &b.work, Cluster: "m1", Reason: reason})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stage.Handle(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, wantCorrections, wantSaid, wantTold int, is bool) {
		t.Helper()
		c := applying.FieldsContested(b.hub.LiveWork(b.work))
		if corrections != wantCorrections || said != wantSaid || told != wantTold || (c != nil) != is {
			t.Errorf("%s: %d corrections, %d writes to the Work, %d events, says %v; want %d, %d, %d, %v", when, corrections, said, told, c, wantCorrections, wantSaid, wantTold, is)
		}
		if is && c != nil && !strings.Contains(c.Message, b.key.String()+" in m1") {
			t.Errorf("%s: it says %q", when, c.Message)
		}
	}
	fight := func(times int) {
		t.Helper()
		for range times {
			now = now.Add(time.Second)
			b.member.Spoil(b.key)
			handle(one, "Drift")
		}
	}
	handle(one, "")
	want("applied", 1, 1, 0, false)
	fight(4)
	want("corrected four times", 5, 1, 0, false)
	fight(1)
	want("corrected five times", 6, 2, 1, true)
	fight(20)
	want("corrected many times", 26, 2, 1, true)
	b.member.Spoil(b.key)
	now = now.Add(time.Second / 2)
	handle(one, events.ReasonUnfinished)
	want("a sweep comes between", 26, 2, 1, true)
	now = now.Add(time.Second)
	handle(one, events.ReasonUnfinished)
	want("a sweep comes later", 27, 2, 1, true)
	now = now.Add(applying.FightWithin - time.Second)
	handle(other, events.ReasonUnfinished)
	want("another process looks too early", 27, 2, 1, true)
	now = now.Add(time.Second)
	handle(other, events.ReasonUnfinished)
	want("nobody corrected it for a while", 27, 3, 1, false)
	fight(4)
	want("four corrections are no fight again", 31, 3, 1, false)
	ahead = time.Hour
	fight(1)
	want("the fifth is, also where the member's clock is an hour ahead", 32, 4, 2, true)
	now = now.Add(applying.FightWithin)
	handle(one, events.ReasonUnfinished)
	want("and it ends there, too", 32, 5, 2, false)
}

// What is corrected now and then is not fought over.
func TestSeldomCorrectionsAreNoFight(t *testing.T) {
	b := secretBrought(t)
	b.keep(propagation.Contents{b.hash: b.whole})
	now := fixture.Start
	b.stage = applier.New(b.hub, open{}, func(context.Context, string) (applier.Member, error) { return b.member, nil }, func() time.Time { return now })
	b.apply("")
	for range 20 {
		now = now.Add(applying.FightWithin / 4)
		b.member.Spoil(b.key)
		b.apply("")
	}
	if c := applying.FieldsContested(b.hub.LiveWork(b.work)); c != nil {
		t.Errorf("the Work says %v", c)
	}
}

// The Work of a placement says so, too, whichever of its objects it is, and its other
// conditions are as they were.
func TestAFightOverAnObjectOfAPlacementIsTold(t *testing.T) {
	now := fixture.Start
	b, m, _, w := placedIn(t, func() time.Time { return now }, "one", "two")
	stage := applier.New(b, open{}, func(context.Context, string) (applier.Member, error) { return m, nil }, func() time.Time { return now }).Sequential()
	said := 0
	b.Wrote = func(context.Context, pipelinetest.Write) { said++ }
	fight := func(times int) *metav1.Condition {
		t.Helper()
		for range times {
			now = now.Add(time.Second)
			m.Spoil(propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "two"})
			if _, err := stage.Handle(t.Context(), renderedFor(t, w.Key)); err != nil {
				t.Fatal(err)
			}
		}
		return applying.FieldsContested(b.LiveWork(w.Key))
	}
	if c := fight(5); c != nil || said != 1 { // the first one makes it
		t.Errorf("corrected four times, it says %v in %d writes", c, said)
	}
	if c := fight(10); c == nil || !strings.Contains(c.Message, "shop/two in m1") || said != 2 {
		t.Errorf("corrected many times, it says %v in %d writes", c, said)
	}
	if all := b.LiveWork(w.Key).Status.Conditions; !meta.IsStatusConditionTrue(all, placementv1.ConditionApplied) || !meta.IsStatusConditionTrue(all, placementv1.ConditionAvailable) {
		t.Errorf("it says %v", all)
	}
	now = now.Add(applying.FightWithin)
	if _, err := stage.Handle(t.Context(), renderedFor(t, w.Key)); err != nil {
		t.Fatal(err)
	}
	if c := applying.FieldsContested(b.LiveWork(w.Key)); c != nil || said != 3 {
		t.Errorf("when it is over it says %v in %d writes", c, said)
	}
}
