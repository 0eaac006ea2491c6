// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// reached is the version that Redis was told last; down: it does not answer.
type reached struct {
	version uint64
	down    bool
}

func (r *reached) Check(_ context.Context, _ propagation.TemplateKey, _ propagation.BindingKey, _ string, version uint64) (suspension.Verdict, error) {
	if r.down {
		return suspension.Verdict{}, errors.New("redis is down")
	}
	r.version = version
	return suspension.Verdict{}, nil
}

// Before a member gets or loses anything, Redis knows that the hub has come to the version
// at which it said so. Where Redis cannot be told, the member is left as it is.
func TestZ21RedisKnowsNoLessThanMembers(t *testing.T) {
	b := secretBrought(t)
	b.keep(propagation.Contents{b.hash: b.whole})
	b.hub.Join("m1")
	w := *b.hub.LiveWork(b.work)
	w.Finalizers = []string{propagation.FinalizerWork}
	if _, err := b.hub.CommitWork(t.Context(), b.hub.LiveWork(b.work), &w); err != nil {
		t.Fatal(err)
	}
	redis, writes := &reached{}, 0
	b.member.Wrote = func(_ context.Context, w pipelinetest.MemberWrite) {
		writes++
		if is := propagation.Version(b.hub.LiveWork(b.work).ResourceVersion); redis.version != is {
			t.Errorf("%v is done at version %d of the Work, and Redis knows of %d", w, is, redis.version)
		}
	}
	stage := applier.New(b.hub, redis, func(context.Context, string) (applier.Member, error) { return b.member, nil }, func() time.Time { return fixture.Start })
	bring := func(eventType string) {
		t.Helper()
		binding := propagation.BindingOf(b.key)
		e, err := events.New("renderer", event.New(), eventType, events.Data{Template: &b.key, Binding: &binding, Work: &b.work, Cluster: "m1"})
		if err != nil {
			t.Fatal(err)
		}
		before := writes
		redis.down = true
		if _, err := stage.Handle(t.Context(), e); err == nil || writes != before {
			t.Fatalf("%s while Redis was down: %d writes, %v", eventType, writes-before, err)
		}
		redis.down = false
		if _, err := stage.Handle(t.Context(), e); err != nil || writes == before {
			t.Fatalf("%s: %d writes, %v", eventType, writes-before, err)
		}
	}
	bring(events.WorkRendered)
	if err := b.hub.DeleteWork(t.Context(), b.hub.LiveWork(b.work)); err != nil {
		t.Fatal(err)
	}
	bring(events.WorkRemoved)
	if b.member.Object(b.key) != nil {
		t.Error("the member still has it")
	}
}
