// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package detector_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/detector"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/redistest"
)

// numbers are those of what is kept of the scene's policy.
func (s *scene) numbers() string {
	var all []string
	for _, r := range s.hub.LiveHistory(s.hub.LivePolicy(s.policy)) {
		all = append(all, fmt.Sprint(r.Number))
	}
	return strings.Join(all, " ")
}

// prioritize edits the policy, and has the detector hear of it.
func (s *scene) prioritize(priority int32) {
	s.Helper()
	s.change(func(spec *policyv1alpha1.PropagationSpec) { spec.Priority = &priority })
	s.hear(events.ResourceUpdated, s.aboutPolicy(), "")
}

// writes counts what is written to the hub from now on.
func (s *scene) writes() *[]string {
	var all []string
	s.hub.Wrote = func(_ context.Context, w pipelinetest.Write) { all = append(all, w.String()) }
	return &all
}

func TestWhatAPolicySaysIsKept(t *testing.T) {
	s := newScene(t)
	if got := s.numbers(); got != "1" {
		t.Fatalf("kept at first: %s", got)
	}
	writes := s.writes()
	s.prioritize(1)
	if got := s.numbers(); got != "1 2" || len(*writes) != 1 {
		t.Errorf("kept %s with %q, want 1 2 with one write", got, *writes)
	}
	s.prioritize(0)
	s.prioritize(1) // both are kept already
	if got := s.numbers(); got != "1 2 3" || len(*writes) != 2 {
		t.Errorf("kept %s with %q, want 1 2 3 with two writes", got, *writes)
	}
	for i := range int32(20) {
		s.prioritize(10 + i)
	}
	if got := s.numbers(); got != "14 15 16 17 18 19 20 21 22 23" {
		t.Errorf("kept %s, want the newest ten", got)
	}
	*writes = nil
	s.hear(events.ResourceAdded, s.aboutPolicy(), "again")
	s.restart()
	s.hear(events.ResourceAdded, s.aboutPolicy(), "after a restart")
	if len(*writes) > 0 {
		t.Errorf("nothing changed, and it writes %q", *writes)
	}
}

// restart is another process, with another Redis.
func (s *scene) restart() {
	s.Helper()
	rdb := redistest.Embedded(s.T).Client(s.T)
	index := claims.New(rdb)
	if err := index.Rebuild(s.Context(), func(context.Context, *claims.Rebuild) error { return nil }); err != nil {
		s.Fatal(err)
	}
	s.detector = detector.New(s.hub, index, index, suspension.New(rdb))
}

// What an editor of the namespace puts in the place of a revision makes room for it.
func TestAForgedRevisionMakesRoom(t *testing.T) {
	s := newScene(t)
	p := s.hub.LivePolicy(s.policy)
	forged := *p.Revision()
	forged.UID, forged.Number, forged.Spec = "forged", 7, map[string]any{"priority": int64(99)}
	s.hub.ForgeHistory(p, &forged)
	s.restart()
	s.hear(events.ResourceAdded, s.aboutPolicy(), "")
	kept := s.hub.LiveHistory(p)
	if len(kept) != 1 || !kept[0].Of(p) {
		t.Errorf("kept %+v", kept)
	}
}

// A policy acts, whether or not the hub keeps what it says.
func TestAPolicyDoesNotWaitForItsHistory(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}, "p", errors.New("exceeded quota"))
	for name, tc := range map[string]struct {
		err   error
		tries bool
	}{
		"a quota":                     {err: fmt.Errorf("create: %w", forbidden)},
		"no such namespace":           {err: fmt.Errorf("create: %w", outcome.ErrGone)},
		"what the hub does not take":  {err: outcome.Terminal(errors.New("too large"))},
		"a hub that does not answer":  {err: errors.New("connection refused"), tries: true},
		"somebody else was quicker":   {err: outcome.Conflict(errors.New("exists")), tries: true},
		"the kind is not served here": {err: fmt.Errorf("create: %w", outcome.ErrNotServed)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			var told []string
			s.hub.Recorded = func(about hub.About, reason, message string) {
				told = append(told, about.Name+" "+reason+" "+message)
			}
			s.hub.Ask = func(_ context.Context, r pipelinetest.Request) error {
				if r.Verb == "create" && strings.HasPrefix(r.About, "history ") {
					return tc.err
				}
				return nil
			}
			priority := int32(5)
			s.change(func(spec *policyv1alpha1.PropagationSpec) { spec.Priority = &priority })
			out, err := s.handle(events.ResourceUpdated, s.aboutPolicy(), "")
			if tc.tries {
				if err == nil || len(told) > 0 {
					t.Errorf("error %v, told %q: it has to be tried again", err, told)
				}
				return
			}
			if err != nil || len(out) == 0 || !slices.ContainsFunc(told, func(m string) bool { return strings.HasPrefix(m, "p HistoryNotKept ") }) {
				t.Errorf("emitted %d, %v; told %q", len(out), err, told)
			}
		})
	}
}
