// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer_test

import (
	"slices"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest"
)

// A Work that the applier has let go is held by somebody else's finalizer. The applier would
// say once more that it has done what it can, and the renderer would hear of that.
func TestAWorkThatWasLetGoIsAskedForNoMore(t *testing.T) {
	for sentence, setUp := range map[string]func(t *testing.T) (*pipelinetest.Hub, propagation.WorkKey, func() []event.Event){
		"of a policy, the binding is gone": func(t *testing.T) (*pipelinetest.Hub, propagation.WorkKey, func() []event.Event) {
			r := secretBound(t)
			r.render()
			if err := r.hub.DeleteBinding(t.Context(), r.bound); err != nil {
				t.Fatal(err)
			}
			return r.hub, r.work("m1").Key, r.render
		},
		"of a placement that is gone": func(t *testing.T) (*pipelinetest.Hub, propagation.WorkKey, func() []event.Event) {
			h := placing(t, true)
			putWork(t, h)
			h.DropPlacement("crp-1")
			return h, propagation.WorkKey{Form: propagation.PlacementForm, Cluster: "m1", Name: "crp-1-work"}, func() []event.Event {
				out, err := handleBound(t, h)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			h, key, render := setUp(t)
			work := func() *propagation.Work {
				w, err := h.Work(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				return w
			}
			held := *work()
			held.Finalizers = []string{propagation.FinalizerWork, "example.com/audit"}
			if _, err := h.CommitWork(t.Context(), work(), &held); err != nil {
				t.Fatal(err)
			}
			// asked reports whether the applier is asked to take its objects away.
			asked := func() bool {
				return slices.ContainsFunc(render(), func(e event.Event) bool {
					d, err := events.Decode(e)
					if err != nil {
						t.Fatal(err)
					}
					return e.Type() == events.WorkRemoved && slices.ContainsFunc(d.Each(), func(d events.Data) bool { return d.Cluster == key.Cluster })
				})
			}
			for i, when := range []string{"when it is deleted", "while the applier has not let it go"} {
				if !asked() || !work().Deleting {
					t.Fatalf("%d: nobody is asked %s", i, when)
				}
			}
			if err := h.ReleaseWork(t.Context(), work()); err != nil {
				t.Fatal(err)
			}
			if asked() {
				t.Error("it is asked for although it was let go")
			}
			if w := work(); !w.Deleting || !slices.Equal(w.Finalizers, []string{"example.com/audit"}) {
				t.Errorf("it is %v", w)
			}
		})
	}
}
