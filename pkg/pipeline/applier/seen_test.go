// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/test/pipelinetest/fixture"
)

// A Work that somebody deleted by hand is made again while it is suspended, and its member
// does not answer just then. It is held all the same, and what the member has is said as
// soon as it answers.
func TestS28WhatASuspendedWorkHasInItsMemberIsSaidOnceItIsKnown(t *testing.T) {
	b := secretBrought(t)
	b.keep(propagation.Contents{b.hash: b.whole})
	down := false
	handle := func() *propagation.Work {
		t.Helper()
		stage := applier.New(b.hub, open{}, func(context.Context, string) (applier.Member, error) {
			if down {
				return nil, errors.New("m1 does not answer")
			}
			return b.member, nil
		}, func() time.Time { return fixture.Start })
		binding := propagation.BindingOf(b.key)
		e, err := events.New("renderer", event.New(), events.WorkRendered, events.Data{Template: &b.key, Binding: &binding, Work: &b.work, Cluster: "m1"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stage.Handle(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		return b.hub.LiveWork(b.work)
	}
	if _, err := b.hub.CommitBinding(t.Context(), nil, &propagation.Binding{Key: propagation.BindingOf(b.key)}); err != nil {
		t.Fatal(err)
	}
	handle() // the member has it
	b.hub.RemoveWork(b.work)
	b.carry("hunter2")
	suspended := *b.hub.LiveWork(b.work)
	suspended.Spec.SuspendDispatching = new(true)
	if _, err := b.hub.CommitWork(t.Context(), b.hub.LiveWork(b.work), &suspended); err != nil {
		t.Fatal(err)
	}
	down = true
	w := handle()
	if c := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionApplied); c == nil || c.Status != metav1.ConditionUnknown || c.Reason != reporting.ReasonUnreachable {
		t.Errorf("while the member does not answer, Applied is %+v", c)
	}
	if !meta.IsStatusConditionFalse(w.Status.Conditions, workv1alpha1.ConditionDispatching) {
		t.Errorf("it does not say that it is held: %+v", w.Status.Conditions)
	}
	if reporting.Finished(w) {
		t.Error("nothing is to be done about it, so nobody will ask the member again")
	}
	if again := handle(); again.ResourceVersion != w.ResourceVersion {
		t.Error("asked in vain again, it is written again")
	}
	down = false
	w = handle()
	if len(w.Status.ManifestStatuses) != 1 || meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionApplied) != nil || !reporting.Finished(w) {
		t.Errorf("once the member answers, the Work says %+v", w.Status)
	}
}
