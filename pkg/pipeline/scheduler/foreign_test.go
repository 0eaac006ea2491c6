// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/pipeline/scheduler"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// Z25: whose binding it is says the binding as it is, not the event, which may be
// late, repeated or forged.
func TestZ25AnothersBindingIsLeftAlone(t *testing.T) {
	for name, want := range map[string]bool{"": true, "default-scheduler": true, "team": false} {
		ctx := t.Context()
		h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
		p := fixture.Policy("p").To("m1")
		policy := p.Policy()
		policy.Spec.SchedulerName = name
		b, err := h.CommitBinding(ctx, nil, gating.Decide(gating.Input{Template: fixture.Deployment("nginx").ClaimedBy(p).Template(), Policy: policy}).Next)
		if err != nil {
			t.Fatal(err)
		}
		wrote := 0
		h.Wrote = func(context.Context, pipelinetest.Write) { wrote++ }
		key := b.Template()
		e, err := events.New("gate", event.Event{}, events.BindingActivated, events.Data{Template: &key, Binding: &b.Key})
		if err != nil {
			t.Fatal(err)
		}
		out, err := scheduler.New(h, h, nil, h, func() time.Time { return fixture.Start }).Handle(ctx, e)
		if did := len(out) > 0 || wrote > 0; err != nil || did != want {
			t.Errorf("scheduler %q: wrote %d, told %d (%v); want anything: %t", name, wrote, len(out), err, want)
		}
	}
}
