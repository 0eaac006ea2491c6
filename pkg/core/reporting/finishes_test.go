// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

const complete = `{"conditions":[{"type":"Complete","status":"True"}]}`

func clusterOf(name, id string) *clusterv1alpha1.Cluster {
	return &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1alpha1.ClusterSpec{ID: id}}
}

func finish(id, uid string) workv1alpha2.Finish {
	return workv1alpha2.Finish{ClusterID: id, TemplateUID: types.UID(uid), Status: &runtime.RawExtension{Raw: []byte(complete)}}
}

// ran is the Work of a Job with a TTL, made from the template of that uid.
func ran(cluster, uid, status string) *propagation.Work {
	return made(cluster, func(w *propagation.Work) {
		w.Annotations[propagation.AnnotationTemplateUID] = uid
		w.Spec.Workload.Manifests[0].Raw = []byte(`{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"shop","name":"once"},"spec":{"ttlSecondsAfterFinished":1}}`)
		id := workv1alpha1.ResourceIdentifier{Group: "batch", Version: "v1", Kind: "Job", Namespace: "shop", Name: "once"}
		w.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Identifier: id, Status: &runtime.RawExtension{Raw: []byte(status)}}}
	})
}

// That a Job has finished in a member is recorded once, and as long as its template is the
// same.
func TestZ20WhereAJobHasFinishedIsRecorded(t *testing.T) {
	fleet := []*clusterv1alpha1.Cluster{clusterOf("a", "id-a"), clusterOf("b", "id-b"), clusterOf("nameless", "")}
	for sentence, tc := range map[string]struct {
		was, want []workv1alpha2.Finish
		works     []*propagation.Work
	}{
		"it has in one of two":                        {works: []*propagation.Work{ran("a", "u-1", complete), ran("b", "u-1", `{"active":1}`)}, want: []workv1alpha2.Finish{finish("id-a", "u-1")}},
		"that is known":                               {was: []workv1alpha2.Finish{finish("id-a", "u-1")}, works: []*propagation.Work{ran("a", "u-1", complete)}, want: []workv1alpha2.Finish{finish("id-a", "u-1")}},
		"its Work is gone":                            {was: []workv1alpha2.Finish{finish("id-a", "u-1")}, want: []workv1alpha2.Finish{finish("id-a", "u-1")}},
		"its Cluster, too, which is not of the fleet": {was: []workv1alpha2.Finish{finish("id-z", "u-1")}, works: []*propagation.Work{ran("z", "u-1", complete)}, want: []workv1alpha2.Finish{finish("id-z", "u-1")}},
		"the template was made anew":                  {was: []workv1alpha2.Finish{finish("id-a", "u-0")}, works: []*propagation.Work{ran("b", "u-1", complete)}, want: []workv1alpha2.Finish{finish("id-b", "u-1")}},
		"and a Work is of the former one":             {works: []*propagation.Work{ran("a", "u-0", complete)}},
		"which member it is, is not known":            {works: []*propagation.Work{ran("nameless", "u-1", complete)}},
		"somebody emptied a record":                   {was: []workv1alpha2.Finish{{ClusterID: "id-a", TemplateUID: "u-1"}}},
		"a Work tells nothing":                        {works: []*propagation.Work{made("a")}},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := bound("a", "b")
			b.Owner.UID, b.Status.FinishedIn = "u-1", tc.was
			got := WithFinishes(b, b.Status, tc.works, fleet).FinishedIn
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			b.Status.FinishedIn = got
			if d := cmp.Diff(got, WithFinishes(b, b.Status, tc.works, fleet).FinishedIn); d != "" {
				t.Errorf("once more: %s", d)
			}
		})
	}
}

// However long the statuses are, the binding has room for them.
func TestZ20RecordsOfFinishedJobsAreBounded(t *testing.T) {
	var works []*propagation.Work
	var fleet []*clusterv1alpha1.Cluster
	long := strings.Replace(complete, "{", `{"why":"`+strings.Repeat("x", 1000)+`",`, 1)
	for i := range 1000 {
		name := fmt.Sprintf("m-%d", i)
		works, fleet = append(works, ran(name, "u-1", long)), append(fleet, clusterOf(name, name))
	}
	b := bound()
	b.Owner.UID = "u-1"
	if n := len(WithFinishes(b, b.Status, works, fleet).FinishedIn); n*len(long) > maxFinishes || (n+1)*len(long) <= maxFinishes {
		t.Errorf("%d records of %d bytes each", n, len(long))
	}
}

// What a binding records of a member counts as long as no Work says anything.
func TestZ20WhereAJobHasFinishedIsRecalled(t *testing.T) {
	item := func(cluster, status string) workv1alpha2.AggregatedStatusItem {
		i := workv1alpha2.AggregatedStatusItem{ClusterName: cluster}
		if status != "" {
			i.Status = &runtime.RawExtension{Raw: []byte(status)}
		}
		return i
	}
	for sentence, tc := range map[string]struct {
		records []workv1alpha2.Finish
		told    []workv1alpha2.AggregatedStatusItem
		want    string
	}{
		"it is recorded":                        {records: []workv1alpha2.Finish{finish("id-b", "u-1"), finish("id-a", "u-1")}, want: complete},
		"and the status names the member alone": {records: []workv1alpha2.Finish{finish("id-a", "u-1")}, told: []workv1alpha2.AggregatedStatusItem{item("a", "")}, want: complete},
		"a Work has told something":             {records: []workv1alpha2.Finish{finish("id-a", "u-1")}, told: []workv1alpha2.AggregatedStatusItem{item("a", `{"active":1}`)}, want: `{"active":1}`},
		"another member had that name":          {records: []workv1alpha2.Finish{finish("id-b", "u-1")}},
		"that was another template":             {records: []workv1alpha2.Finish{finish("id-a", "u-0")}},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := bound("a")
			b.Owner.UID, b.Status.FinishedIn, b.Status.AggregatedStatus = "u-1", tc.records, tc.told
			got := ""
			for _, i := range Recalled(b, clusterOf("a", "id-a")).Status.AggregatedStatus {
				if i.ClusterName == "a" && i.Status != nil {
					got = string(i.Status.Raw)
					break
				}
			}
			if got != tc.want {
				t.Errorf("it is recalled as %q, want %q", got, tc.want)
			}
			if len(b.Status.AggregatedStatus) != len(tc.told) {
				t.Error("the binding itself was changed")
			}
		})
	}
}

// A binding records the status with which a Job finished, and that tells its health.
func TestZ20WhatIsRecalledHasAHealth(t *testing.T) {
	const failed = `{"conditions":[{"type":"Failed","status":"True"}]}`
	for status, want := range map[string]workv1alpha1.ResourceHealth{complete: workv1alpha1.ResourceHealthy, failed: workv1alpha1.ResourceUnhealthy} {
		b, w := bound("a"), ran("a", "u-1", status)
		w.Status.ManifestStatuses = nil
		b.Owner.UID, b.Status.FinishedIn = "u-1", []workv1alpha2.Finish{{ClusterID: "id-a", TemplateUID: "u-1", Status: &runtime.RawExtension{Raw: []byte(status)}}}
		got := LastStatus(kinds.Table{}, w, Recalled(b, clusterOf("a", "id-a")), 0, FirstManifest(w))
		if got.Health != want || string(got.Status.Raw) != status {
			t.Errorf("of %s the Work says %s, %s", status, got.Health, got.Status.Raw)
		}
	}
}
