// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"slices"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest"
)

// handed is what is handed over to the applier.
func handed(t *testing.T, out []event.Event, to string) event.Event {
	t.Helper()
	i := slices.IndexFunc(out, func(e event.Event) bool { return e.Extensions()[events.ExtApplier] == to })
	if i < 0 {
		t.Fatalf("nothing is handed over to %s: %v", to, said(out))
	}
	return out[i]
}

// A member may have an applier of its own: Sluice's leaves it alone, and hands its Works
// over, of several members in one event.
func TestWorksOfAMemberThatHasAnApplierOfItsOwnAreHandedOver(t *testing.T) {
	f := newFleet(t, "m1", "m2", "m3", "m4")
	f.hub.AnnotateCluster("m2", propagation.AnnotationApplier, "edge")
	f.hub.AnnotateCluster("m4", propagation.AnnotationApplier, "edge")
	out := f.handle(f.rendered())
	f.wants("two are another's", out, "applied,m1,m3,AppliedSuccessful", "rendered,m2,m4,HandedOver")
	f.wrote(map[string]int32{"m1": 1, "m3": 1})

	f.wants("who gets them", f.handle(handed(t, out, "edge")), "applied,m2,m4,AppliedSuccessful")
	f.wrote(map[string]int32{"m1": 1, "m2": 1, "m3": 1, "m4": 1})
}

// What fails of the others hands nothing over once more, and keeps nothing back.
func TestWhatFailsKeepsNothingFromAnotherApplier(t *testing.T) {
	f := newFleet(t, "m1", "m2")
	f.hub.AnnotateCluster("m2", propagation.AnnotationApplier, "edge")
	f.trouble["m1"] = func(context.Context) error { return errMoody }
	f.wants("one fails", f.handle(f.rendered()), "rendered,m1,Alone", "rendered,m2,HandedOver")
}

// What is handed over passes Sluice's own Trigger no more, and is one's own again as soon
// as the Cluster says nothing.
func TestWhatIsHandedOverIsNotSluicesAnyMore(t *testing.T) {
	routes, err := pipelinetest.LoadRoutes()
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, "m1")
	f.hub.AnnotateCluster("m1", propagation.AnnotationApplier, "edge")
	rendered := f.rendered()
	if !slices.ContainsFunc(routes.For(rendered), func(r pipelinetest.Route) bool { return r.Stage == "applier" }) {
		t.Error("a Work that is rendered does not come to the applier")
	}
	if got := routes.For(handed(t, f.handle(rendered), "edge")); len(got) > 0 {
		t.Errorf("a Work that is handed over comes to %v", got)
	}
	f.hub.AnnotateCluster("m1", propagation.AnnotationApplier, "")
	f.wants("the Cluster says nothing any more", f.handle(rendered), "applied,m1,AppliedSuccessful")
}
