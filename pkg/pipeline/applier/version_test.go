// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// serves is a member that serves one version of each kind.
type serves struct {
	*pipelinetest.Member
	version string
}

func (s serves) Look(ctx context.Context, ref member.Ref, how member.Looking) (applying.Read[*applying.Observed], error) {
	if ref.APIVersion != s.version {
		return applying.Read[*applying.Observed]{Answer: applying.NotServed, Why: "it does not serve " + ref.APIVersion}, nil
	}
	return s.Member.Look(ctx, ref, how)
}

// Known is nothing of a version that is not served.
func (s serves) Known(ref member.Ref) *applying.Observed {
	if ref.APIVersion != s.version {
		return nil
	}
	return s.Member.Known(ref)
}

// An object leaves in the version in which it was applied, where the member does not serve
// the one that the Work has for its template: somebody edited that, and the template is
// gone. Where it serves neither, the object stays.
func TestZ17AnObjectLeavesAsItWasApplied(t *testing.T) {
	now := func() time.Time { return fixture.Start }
	for sentence, tc := range map[string]struct {
		named, served string
		leaves        bool
	}{
		"the Work names the version that is served": {"v1", "v1", true},
		"the Work names one that is not":            {"v9", "v1", true},
		"the member serves it no more":              {"v1", "v2", false},
		"and the Work names another":                {"v9", "v2", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := secretBrought(t)
			b.hub.Join("m1")
			b.keep(propagation.Contents{b.hash: b.whole})
			b.apply("")
			w := *b.hub.LiveWork(b.work)
			w.Annotations = maps.Clone(w.Annotations)
			w.Annotations[propagation.AnnotationTemplate] = `{"apiVersion":"` + tc.named + `","kind":"Secret","namespace":"shop","name":"token"}`
			w.Finalizers = []string{propagation.FinalizerWork}
			edited, err := b.hub.CommitWork(t.Context(), b.hub.LiveWork(b.work), &w)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.hub.DeleteWork(t.Context(), edited); err != nil {
				t.Fatal(err)
			}
			stage := applier.New(b.hub, open{}, func(context.Context, string) (applier.Member, error) { return serves{b.member, tc.served}, nil }, now)
			binding := propagation.BindingOf(b.key)
			e, err := events.New("test", event.New(), events.WorkRemoved, events.Data{Template: &b.key, Binding: &binding, Work: &b.work, Cluster: "m1"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stage.Handle(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if left := b.member.Object(b.key) == nil; left != tc.leaves || (b.hub.LiveWork(b.work) == nil) != tc.leaves {
				t.Errorf("the object left: %t, want %t; the Work is %+v", left, tc.leaves, b.hub.LiveWork(b.work))
			}
		})
	}
}
