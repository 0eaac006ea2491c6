// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// What people read of a fight is who sets which of the fields that the manifest asks for.
func TestFought(t *testing.T) {
	w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: "nginx-work"}}
	manifest := fields{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": fields{"namespace": "shop", "name": "nginx", "labels": fields{"app": "a"}},
		"spec": fields{"replicas": int64(2), "containers": []any{fields{"name": "web", "image": "one"}, fields{"name": "side", "image": "one"}}, "ports": []any{fields{"port": int64(80)}}, "set": []any{"x"}},
	}
	replicas := fields{"f:spec": fields{"f:replicas": fields{}}}
	container := func(name string) fields {
		return fields{"f:spec": fields{"f:containers": fields{`k:{"name":"` + name + `"}`: fields{".": fields{}, "f:name": fields{}, "f:image": fields{}}}}}
	}
	by := func(manager string, set fields) fields {
		return fields{"manager": manager, "operation": "Update", "fieldsV1": set}
	}
	ours := func(set fields) fields {
		return fields{"manager": "sluice", "operation": "Apply", "fieldsV1": set}
	}
	for name, tc := range map[string]struct {
		work     string // that the object's marks name
		managers []any
		gone     bool
		want     string
	}{
		"one field":                       {managers: []any{by("rival", replicas)}, want: `"rival" sets spec.replicas, each time that it is corrected`},
		"a field of an element of a list": {managers: []any{by("rival", container("side")), ours(fields{"f:spec": fields{"f:containers": fields{`k:{"name":"side"}`: fields{"f:name": fields{}}}}})}, want: `"rival" sets spec.containers[name=side].image, each time that it is corrected`},
		"an element with a default in its key": {
			managers: []any{by("rival", fields{"f:spec": fields{"f:ports": fields{`k:{"port":80,"protocol":"TCP"}`: fields{"f:port": fields{}}}}})}, want: `"rival" sets spec.ports[port=80,protocol=TCP].port, each time that it is corrected`,
		},
		"an element of a set":                   {managers: []any{by("rival", fields{"f:spec": fields{"f:set": fields{`v:"x"`: fields{}}}})}, want: `"rival" sets spec.set["x"], each time that it is corrected`},
		"two managers, sorted":                  {managers: []any{by("zoe", replicas), by("al", fields{"f:metadata": fields{"f:labels": fields{"f:app": fields{}}}})}, want: `"al" sets metadata.labels.app; "zoe" sets spec.replicas, each time that it is corrected`},
		"what is ours, too, is not fought over": {managers: []any{by("friend", replicas), ours(replicas)}, want: "somebody changes it back each time that it is corrected"},
		"nor is what nobody asks for":           {managers: []any{by("friend", fields{"f:spec": fields{"f:paused": fields{}}})}, want: "somebody changes it back each time that it is corrected"},
		"nor is what a subresource sets":        {managers: []any{fields{"manager": "scaler", "operation": "Update", "subresource": "scale", "fieldsV1": replicas}}, want: "somebody changes it back each time that it is corrected"},
		"entries that are no fields":            {managers: []any{"x", by("rival", nil), fields{"manager": 3, "fieldsV1": "x"}, by("odd", fields{"f:spec": fields{"k:{": fields{}, "what": fields{}}})}, want: "somebody changes it back each time that it is corrected"},
		"it is deleted":                         {gone: true, want: "somebody deletes it each time that it is created"},
		"the Work of another Cluster":           {work: "karmada-es-twin/nginx-work", managers: []any{by("rival", replicas)}, want: "the Work karmada-es-twin/nginx-work applies something else to it; does another Cluster lead to the same member?"},
		"its own Work":                          {work: "karmada-es-m1/nginx-work", managers: []any{by("rival", replicas)}, want: `"rival" sets spec.replicas, each time that it is corrected`},
	} {
		t.Run(name, func(t *testing.T) {
			live := applying.None[*applying.Observed]()
			if !tc.gone {
				meta := fields{"managedFields": tc.managers, "annotations": fields{}}
				if tc.work != "" {
					meta["annotations"] = fields{applying.AnnotationWork: tc.work}
				}
				live = applying.Have(applying.Observe(fields{"metadata": meta}, true))
			}
			got := applying.Fought(applying.Input{Work: w, Manifest: manifest, Live: live})
			if diff := cmp.Diff(propagation.KeyOf(manifest).String()+" in m1: "+tc.want, got); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

// A correction is what puts right what somebody changed: neither the first apply nor a
// change of the manifest is one.
func TestCorrects(t *testing.T) {
	known := &workv1alpha1.AppliedState{}
	for name, tc := range map[string]struct {
		known *workv1alpha1.AppliedState
		d     applying.Decision
		want  bool
	}{
		"drift":                        {known, applying.Decision{Action: applying.Apply, Reason: applying.ReasonDrifted}, true},
		"drift that is only reported":  {known, applying.Decision{Action: applying.Wait, Reason: applying.ReasonDrifted}, false},
		"its mark was taken off":       {known, applying.Decision{Action: applying.Apply, Reason: applying.ReasonMarksMissing}, true},
		"it was deleted":               {known, applying.Decision{Action: applying.Apply, Reason: applying.ReasonMissing}, true},
		"it never was there":           {nil, applying.Decision{Action: applying.Apply, Reason: applying.ReasonMissing}, false},
		"the Work says something else": {known, applying.Decision{Action: applying.Apply, Reason: applying.ReasonChanged}, false},
	} {
		if got := applying.Corrects(applying.Input{Known: tc.known}, tc.d); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The condition is there from the beginning of a fight to its end, and is the same
// meanwhile.
func TestFieldsContested(t *testing.T) {
	now := time.Unix(1000, 0)
	before := []metav1.Condition{{Type: "Applied", Status: metav1.ConditionTrue}}
	during := applying.WithFieldsContested(before, []string{"b", "a"}, false, now)
	if diff := cmp.Diff(during, applying.WithFieldsContested(during, nil, false, now.Add(time.Minute))); diff != "" || len(during) != 2 {
		t.Errorf("it goes on: %s", diff)
	}
	w := &propagation.Work{}
	w.Status.Conditions = during
	if c := applying.FieldsContested(w); c == nil || c.Reason != "FieldManagerConflict" || c.Status != metav1.ConditionTrue {
		t.Errorf("the Work says %v", c)
	}
	if c, is := applying.FieldsContestedOf([]*propagation.Work{{}, w}, 3); !is || c.Message != applying.FieldsContested(w).Message || c.ObservedGeneration != 3 {
		t.Errorf("its owner says %v, %v", c, is)
	}
	if diff := cmp.Diff(before, applying.WithFieldsContested(during, nil, true, now)); diff != "" {
		t.Errorf("it is over (-want +got):\n%s", diff)
	}
	if c, is := applying.FieldsContestedOf([]*propagation.Work{{}, {Deleting: true, Status: w.Status}}, 3); is {
		t.Errorf("what leaves is fought over: %v", c)
	}
}
