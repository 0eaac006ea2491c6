// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
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
		"the frozen content is lost, and a member left and came back: it has no Work, and the status hears of that": {
			before: func(r *scene) { r.lost(workv1alpha2.ReasonFullyAppliedSuccess, "m1", "m2") }, tells: []string{events.TemplateTouched, events.WorkFailed},
		},
		"the frozen content is lost, there are no Works, and the status says so": {
			before: func(r *scene) { r.lost(workv1alpha2.ReasonFullyAppliedFailed) }, tells: []string{events.TemplateTouched},
		},
		"no cluster fits the binding, and its status names a member that left with its Work: the status hears of that": {
			before: func(r *scene) {
				r.hub.Apply(r.key, func(map[string]any) {})
				r.unfit()
				r.says(workv1alpha2.ReasonFullyAppliedFailed, "m3")
			}, tells: []string{events.WorkFailed},
		},
		"no cluster fits the binding, which goes on naming the member that left with its Work: the status hears of that": {
			before: func(r *scene) {
				r.hub.Apply(r.key, func(map[string]any) {})
				r.to("m9")
				r.says(workv1alpha2.ReasonFullyAppliedSuccess, "m9")
			}, tells: []string{events.WorkFailed},
		},
		"no cluster fits the binding, its Works stay, and its content changed: the status hears of that": {
			before: func(r *scene) {
				r.hub.Apply(r.key, func(map[string]any) {})
				r.render()
				r.let("hunter2")
				r.unfit()
				r.says(workv1alpha2.ReasonFullyAppliedFailed, "m1", "m2")
			}, works: []string{"m1", "m2"}, tells: []string{events.WorkFailed},
		},
		"no cluster fits the binding, and its status names what is no name: nobody is told of that": {
			before: func(r *scene) {
				r.hub.Apply(r.key, func(map[string]any) {})
				r.unfit()
				r.says(workv1alpha2.ReasonFullyAppliedFailed, "../m3")
			},
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
			}, works: []string{"m1", "m2"}, tells: []string{events.TemplateTouched, events.WorkRendered},
		},
		"no cluster fits the binding, and another of its name brought something: that stays, and nobody is woken": {
			before: func(r *scene) {
				r.hub.Apply(r.key, func(map[string]any) {})
				r.render()
				r.unfit()
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

// unfit lets no cluster fit the binding.
func (r *scene) unfit() {
	r.t.Helper()
	r.to("m9")
	next := *r.bound
	next.Spec.Clusters = nil
	var err error
	if r.bound, err = r.hub.CommitBinding(r.t.Context(), r.bound, &next); err != nil {
		r.t.Fatal(err)
	}
}

// lost deletes the content in force before there are Works, and lets the status say that.
func (r *scene) lost(fully string, named ...string) {
	r.t.Helper()
	r.hub.LoseRevision(r.bound, r.bound.Revision())
	r.says(fully, named...)
}

// says lets the binding's status name those members, and say that of FullyApplied.
func (r *scene) says(fully string, named ...string) {
	r.t.Helper()
	status := r.bound.Status
	for _, m := range named {
		status.AggregatedStatus = append(status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{ClusterName: m, Applied: true})
	}
	says := metav1.ConditionFalse
	if fully == workv1alpha2.ReasonFullyAppliedSuccess {
		says = metav1.ConditionTrue
	}
	status.Conditions = []metav1.Condition{{Type: workv1alpha2.ConditionFullyApplied, Status: says, Reason: fully}}
	var err error
	if r.bound, err = r.hub.CommitBindingStatus(r.t.Context(), r.bound, status); err != nil {
		r.t.Fatal(err)
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

var errRefused = errors.New("refused")

// Z27: a member whose Work cannot be written, or taken away, holds up no other: theirs are
// written and told, and the event that follows for the rest fails until that can be done.
func TestZ27AMemberWhoseWorkCannotBeWrittenHoldsUpNoOther(t *testing.T) {
	for name, tc := range map[string]struct {
		before  func(r *scene)
		refuses string // what every request about m1 does that is answered with err
		err     error
		works   []string // of the others
		writes  int      // to their Works
		tells   string
	}{
		"a Work cannot be made": {
			before: func(*scene) {}, refuses: "create", err: errRefused, works: []string{"m2", "m3"}, writes: 2, tells: events.WorkRendered,
		},
		"a Work cannot be changed": {
			before: func(r *scene) { r.render(); r.let("hunter2"); r.to("m1", "m2", "m3") }, refuses: "update", err: errRefused, works: []string{"m2", "m3"}, writes: 2, tells: events.WorkRendered,
		},
		"a Work cannot be changed, however often": {
			before: func(r *scene) { r.render(); r.let("hunter2"); r.to("m1", "m2", "m3") }, refuses: "update", err: outcome.Terminal(errRefused), works: []string{"m2", "m3"}, writes: 2, tells: events.WorkRendered,
		},
		"a Work cannot be taken away": {
			before: func(r *scene) { r.render(); r.to("m4") }, refuses: "delete", err: errRefused, works: []string{"m2 (leaving)", "m3 (leaving)", "m4"}, writes: 3, tells: events.WorkRemoved,
		},
		"what is kept of a Secret cannot be read": {
			before: func(r *scene) { r.render(); r.let("hunter2"); r.to("m1", "m2", "m3") }, refuses: "get", err: errRefused, works: []string{"m2", "m3"}, writes: 2, tells: events.WorkRendered,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := secretBound(t)
			r.join("m3", "m4")
			r.hub.Apply(r.key, func(obj map[string]any) { obj["data"] = map[string]any{"k": "hunter1"} })
			r.to("m1", "m2", "m3")
			tc.before(r)
			r.hub.Ask = func(_ context.Context, q pipelinetest.Request) error {
				if q.Verb == tc.refuses && strings.Contains(q.About, "m1") && strings.Contains(q.About, "work") {
					return tc.err
				}
				return nil
			}
			out, err := r.handle()
			if err != nil {
				t.Fatalf("the others wait: %v", err)
			}
			var rest event.Event
			told := false
			for _, e := range out {
				told = told || e.Type() == tc.tells
				if e.Type() == events.BindingScheduled {
					rest = e
				}
			}
			if !told || rest.Type() == "" {
				t.Errorf("told is %v", out)
			}
			writes := 0
			for _, w := range r.writes {
				if strings.Contains(w, " work ") && !strings.Contains(w, "contents of") {
					writes++
				}
			}
			var works []string
			for _, w := range r.hub.LiveWorks() {
				switch {
				case w.Key.Cluster == "m1":
				case w.Deleting:
					works = append(works, w.Key.Cluster+" (leaving)")
				default:
					works = append(works, w.Key.Cluster)
				}
			}
			slices.Sort(works)
			if d := cmp.Diff(tc.works, works); d != "" || writes != tc.writes {
				t.Errorf("%d writes to Works, want %d: %v; Works (-want +got):\n%s", writes, tc.writes, r.writes, d)
			}
			if out, err := r.stage.Handle(t.Context(), rest); !errors.Is(err, errRefused) || len(out) > 0 {
				t.Errorf("what follows for the rest ends with %v, and tells %v", err, out)
			}
			r.hub.Ask = nil
			if out, err := r.stage.Handle(t.Context(), rest); err != nil || len(out) == 0 {
				t.Errorf("what follows for the rest, once it can be done, ends with %v", err)
			}
		})
	}
}

// A handling that is broken off writes nothing more.
func TestNothingIsWrittenAfterTheHandlingWasBrokenOff(t *testing.T) {
	r := secretBound(t)
	ctx, cancel := context.WithCancel(t.Context())
	var many []string
	for n := range 40 {
		many = append(many, fmt.Sprintf("n%02d", n))
	}
	r.join(many...)
	r.hub.Apply(r.key, func(map[string]any) {})
	r.to(many...)
	var asked atomic.Int32
	r.hub.Ask = func(_ context.Context, q pipelinetest.Request) error {
		if q.Verb == "create" && strings.HasPrefix(q.About, "work ") {
			asked.Add(1)
			cancel()
			return ctx.Err()
		}
		return nil
	}
	e, err := events.New("test", event.New(), events.BindingScheduled, events.Data{Template: &r.key, Binding: &r.bound.Key})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := r.stage.Handle(ctx, e); !errors.Is(err, context.Canceled) || len(out) > 0 {
		t.Errorf("it ends with %v, and tells %v", err, out)
	}
	if n := asked.Load(); n > 10 {
		t.Errorf("%d Works were written", n)
	}
}
