// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/outcome"
	"sluice.dev/test/pipelinetest"
)

// The renderer makes of what is in force a Work for each member that the binding
// names, takes away those of members that it leaves out, and tells the applier.
func TestRenderer(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(r *scene)
		works  []string // that there are then
		writes int      // to Works
		tells  []string
	}{
		"each member gets a Work": {
			before: func(*scene) {}, works: []string{"m1", "m2"}, writes: 2, tells: []string{events.WorkRendered},
		},
		"what is as it has to be is not written, and told again": {
			before: func(r *scene) { r.render() }, works: []string{"m1", "m2"}, tells: []string{events.WorkRendered},
		},
		"the content in force changed": {
			before: func(r *scene) { r.render(); r.let("hunter2") }, works: []string{"m1", "m2"}, writes: 2, tells: []string{events.WorkRendered},
		},
		"a member is left out, and the template is another than before": {
			before: func(r *scene) {
				r.hub.Apply(r.key, func(obj map[string]any) { obj["data"] = map[string]any{"k": "hunter1"} })
				r.render()
				r.to("m1")
			}, works: []string{"m1", "m2 (leaving)"}, writes: 2, tells: []string{events.WorkRemoved, events.WorkRendered},
		},
		"the frozen content is lost, which wakes the gate": {
			before: func(r *scene) { r.render(); r.hub.LoseRevision(r.bound, r.bound.Revision()) }, works: []string{"m1", "m2"}, tells: []string{events.TemplateTouched, events.WorkRendered},
		},
		"somebody forged the frozen content, which wakes the gate": {
			before: func(r *scene) {
				r.render()
				r.hub.ForgeRevision(r.bound, r.bound.Revision(), func(c map[string]any) map[string]any { c["kind"] = "ClusterRoleBinding"; return c })
			}, works: []string{"m1", "m2"}, tells: []string{events.TemplateTouched, events.WorkRendered},
		},
		"the binding is gone, and the template is there: nothing leaves": {
			before: func(r *scene) {
				r.hub.Apply(r.key, func(map[string]any) {})
				r.render()
				if err := r.hub.DeleteBinding(r.t.Context(), r.bound); err != nil {
					r.t.Fatal(err)
				}
			}, works: []string{"m1", "m2"}, tells: []string{events.TemplateTouched},
		},
		"no cluster fits the binding, and another of its name brought something: that stays, and nobody is woken": {
			before: func(r *scene) {
				r.hub.Apply(r.key, func(map[string]any) {})
				r.render()
				r.to("m9")
				next := *r.bound
				next.Spec.Clusters = nil
				var err error
				if r.bound, err = r.hub.CommitBinding(r.t.Context(), r.bound, &next); err != nil {
					r.t.Fatal(err)
				}
			}, works: []string{"m1", "m2"},
		},
		"binding and template are gone": {
			before: func(r *scene) {
				r.render()
				if err := r.hub.DeleteBinding(r.t.Context(), r.bound); err != nil {
					r.t.Fatal(err)
				}
			}, works: []string{"m1 (leaving)", "m2 (leaving)"}, writes: 2, tells: []string{events.WorkRemoved},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := secretBound(t)
			tc.before(r)
			var works, tells []string
			writes := 0
			for _, e := range r.render() {
				tells = append(tells, e.Type())
			}
			for _, w := range r.writes {
				if strings.Contains(w, " work ") && !strings.Contains(w, "contents of") {
					writes++
				}
			}
			for _, w := range r.hub.LiveWorks() {
				says := w.Key.Cluster
				if w.Deleting {
					says += " (leaving)"
				}
				works = append(works, says)
			}
			slices.Sort(works)
			slices.Sort(tells)
			if d := cmp.Diff(tc.works, works) + cmp.Diff(tc.tells, slices.Compact(tells)); d != "" || writes != tc.writes {
				t.Errorf("%d writes to Works, want %d: %v; Works, and what is told (-want +got):\n%s", writes, tc.writes, r.writes, d)
			}
		})
	}
}

// A Work that somebody else wrote meanwhile is read again.
func TestARaceOfTheRendererIsAConflict(t *testing.T) {
	r := secretBound(t)
	r.hub.Ask = func(_ context.Context, q pipelinetest.Request) error {
		if q.Writes() && strings.HasPrefix(q.About, "work ") {
			return outcome.Conflict(context.DeadlineExceeded)
		}
		return nil
	}
	if _, err := r.handle(); !outcome.IsConflict(err) {
		t.Errorf("it ends with %v", err)
	}
}
