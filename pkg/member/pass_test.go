// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// merge patches the metadata of an object that is as the patch says.
func (f *fakeAPI) merge(w http.ResponseWriter, t target, old *unstructured.Unstructured, body []byte, r *http.Request) {
	var patch struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
			Labels          map[string]string
			Annotations     map[string]*string
		}
	}
	if err := json.Unmarshal(body, &patch); err != nil {
		panic(err)
	}
	if m := patch.Metadata; old == nil || m.UID != old.GetUID() || m.ResourceVersion != old.GetResourceVersion() {
		fail(w, http.StatusConflict, metav1.StatusReasonConflict, t, "it is another")
		return
	}
	next := old.DeepCopy()
	labels, annotations := next.GetLabels(), next.GetAnnotations()
	maps.Copy(labels, patch.Metadata.Labels)
	for k, v := range patch.Metadata.Annotations {
		if delete(annotations, k); v != nil {
			annotations[k] = *v
		}
	}
	next.SetLabels(labels)
	next.SetAnnotations(annotations)
	f.store(w, t, old, next, r, false)
}

// What is passed on stays the object that it is, and is its heir's, who applies what it
// says; what was written since it was looked at is not.
func TestC75Y9AnObjectIsPassedOn(t *testing.T) {
	w := anywhere(t)
	manifest := w.manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: pages, namespace: %s}, data: {page: one}}")
	ref := refOf(manifest)
	first := work(propagation.WorkName(propagation.BindingOf(ref)))
	first.Annotations = map[string]string{propagation.AnnotationTemplate: `{"apiVersion":"v1","kind":"ConfigMap","namespace":"` + w.namespace + `","name":"pages"}`}
	before := w.apply(first, manifest)
	second := &propagation.Work{Key: propagation.WorkKey{Cluster: "member1", Name: "crp-work", Form: propagation.PlacementForm}}
	passing := func() applying.Passing {
		live, err := w.Look(t.Context(), ref, Looking{Live: true})
		if err != nil {
			t.Fatal(err)
		}
		f := applying.Examine(applying.Evidence{
			Work: first, Template: applying.None[*propagation.Template](), Cluster: applying.Have(&clusterv1alpha1.Cluster{}),
			Others: applying.Have(applying.Others{ref.ID(): second.Key}),
		})
		p, ok := applying.Decide(applying.Input{Work: first, Live: live, Leaving: true, Finding: f}).Passing()
		if !ok {
			t.Fatal("it is not passed on")
		}
		return p
	}
	stale := passing()
	w.edit(ref, "person", func(obj map[string]any) { set(obj, "x", "metadata", "annotations", "note") })
	if err := w.Pass(t.Context(), ref, stale); !outcome.IsConflict(err) {
		t.Errorf("what was written since is passed on: %v", err)
	}
	if err := w.Pass(t.Context(), ref, passing()); err != nil {
		t.Fatal(err)
	}
	live := w.live(ref)
	if field(live, "metadata", "labels", propagation.LabelMemberWork) != second.Key.Owner() || field(live, "data", "page") != "one" {
		t.Errorf("the member has %v", live)
	}
	if _, err := bring(t.Context(), w.Client, first, manifest, applying.TakeOverNever); !errors.As(err, new(*NotOurs)) {
		t.Errorf("the first takes it back: %v", err)
	}
	now, err := bring(t.Context(), w.Client, second, w.manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: pages, namespace: %s}, data: {page: two}}"), applying.TakeOverNever)
	if err != nil || now.State.UID != before.State.UID || field(w.live(ref), "data", "page") != "two" {
		t.Errorf("the heir has %+v: %v", now, err)
	}
	if err := w.Pass(t.Context(), ref, applying.Passing{}); !outcome.IsTerminal(err) {
		t.Errorf("the zero Passing permits something: %v", err)
	}
}
