// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer_test

import (
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
)

// A Work of another binding that has the name is neither written nor deleted; the
// binding says so, and goes to its other members.
func TestZ34AWorkOfAnotherBindingIsNeverTouched(t *testing.T) {
	r := secretBound(t)
	others := &propagation.Work{
		Key:         propagation.WorkKey{Cluster: "m1", Name: propagation.WorkName(r.bound.Key)},
		Annotations: map[string]string{propagation.AnnotationBindingNamespace: "bank", propagation.AnnotationBindingName: "other", propagation.AnnotationBindingUID: "9"},
	}
	others, err := r.hub.CommitWork(t.Context(), nil, others)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing is new
		r.render()
		if d := cmp.Diff(others, r.work("m1")); d != "" {
			t.Errorf("another's Work was written (-want +got)\n%s", d)
		}
	}
	if len(r.writes) > 0 {
		t.Errorf("written again: %v", r.writes)
	}
	if r.work("m2") == nil {
		t.Error("m2 has no Work")
	}
	b := r.hub.LiveBinding(r.bound.Key)
	c := meta.FindStatusCondition(b.Status.Conditions, rendering.ConditionRendered)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != rendering.ReasonWorkNameTaken || !strings.Contains(c.Message, "bank/other") {
		t.Errorf("the binding says %+v", c)
	}

	// Its template is gone: its own Work goes, and no other.
	for _, g := range r.hub.Garbage() {
		r.hub.Collect(g)
	}
	if r.hub.LiveBinding(r.bound.Key) != nil {
		t.Fatal("the binding is still there")
	}
	e, err := events.New("test", event.New(), events.BindingRemoved, events.Data{Template: &r.key, Binding: &r.bound.Key})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.stage.Handle(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(others, r.work("m1")); d != "" {
		t.Errorf("another's Work was deleted (-want +got)\n%s", d)
	}
	if w := r.work("m2"); w != nil && !w.Deleting {
		t.Error("its own Work was not deleted")
	}
}

// Z34: a Work of another binding that has the former name, of 40 bits, is in nobody's
// way, and is not touched either.
func TestZ34AFormerNameThatIsAnothersIsInNobodysWay(t *testing.T) {
	r := secretBound(t)
	key := propagation.WorkKey{Cluster: "m1", Name: propagation.FormerWorkName(r.bound.Key)}
	others, err := r.hub.CommitWork(t.Context(), nil, &propagation.Work{
		Key: key, Annotations: map[string]string{propagation.AnnotationBindingNamespace: "bank", propagation.AnnotationBindingName: "other"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.render()
	if r.work("m1") == nil || r.work("m2") == nil {
		t.Error("it has no Work")
	}
	if d := cmp.Diff(others, r.hub.LiveWork(key)); d != "" {
		t.Errorf("another's Work was written (-want +got)\n%s", d)
	}
}

// Z34: Works that an earlier Sluice made are as good as others: nothing is written
// while nothing changes, and what changes is written into them.
func TestZ34WorksOfFormerNamesAreKept(t *testing.T) {
	r := secretBound(t)
	r.render()
	r.hub.AgeWorks()
	r.render()
	if len(r.writes) > 0 || r.work("m1") != nil {
		t.Errorf("nothing changed, and was written: %v", r.writes)
	}
	r.let("hunter2")
	r.render()
	if r.work("m1") != nil || r.work("m2") != nil {
		t.Error("Works of the present name were made beside those of the former")
	}
	for _, c := range []string{"m1", "m2"} {
		w := r.hub.LiveWork(propagation.WorkKey{Cluster: c, Name: propagation.FormerWorkName(r.bound.Key)})
		if w == nil || w.Annotations[propagation.AnnotationRevision] != r.bound.Revision() {
			t.Errorf("the Work for %s is not of what is in force: %v", c, w)
		}
	}
}

// Z34: a binding that is deleted and made anew, of the same template, has another uid, and
// takes its Works over: their manifests stay as they are, so that no member is written, and
// from then on they say that they are this binding's.
func TestZ34ABindingMadeAnewTakesItsWorksOver(t *testing.T) {
	r := secretBound(t)
	r.render()
	former := map[string]*propagation.Work{"m1": r.work("m1"), "m2": r.work("m2")}
	if !r.hub.DropBinding(r.bound.Key) {
		t.Fatal("the binding is not there")
	}
	was := r.bound.UID
	r.bound = nil
	r.let("hunter1")
	if r.bound.UID == was {
		t.Fatal("the binding is the same")
	}
	r.render()
	for cluster, old := range former {
		w := r.work(cluster)
		if w == nil || w.UID != old.UID || w.Deleting {
			t.Fatalf("the Work for %s was not kept", cluster)
		}
		if d := cmp.Diff(old.Spec, w.Spec); d != "" || w.Generation != old.Generation {
			t.Errorf("the Work for %s says something else (-was +is)\n%s", cluster, d)
		}
		if got := w.Annotations[propagation.AnnotationBindingUID]; got != string(r.bound.UID) {
			t.Errorf("the Work for %s is of the binding %q, want %q", cluster, got, r.bound.UID)
		}
	}
	r.render()
	if len(r.writes) > 0 {
		t.Errorf("written again: %v", r.writes)
	}
}
