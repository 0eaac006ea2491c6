// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/google/go-cmp/cmp"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/kinds"
)

func TestZ29StatusOfAnObject(t *testing.T) {
	long := strings.Repeat("x", 100000)
	many := make([]any, 20000)
	for i := range many {
		many[i] = int64(i)
	}
	lots := map[string]any{}
	for i := range 5000 {
		lots[fmt.Sprintf("field%d", i)] = int64(i)
	}
	for sentence, tc := range map[string]struct {
		status map[string]any
		// want are fields that have to be there.
		want []string
	}{
		"a usual one":                {map[string]any{"phase": "Ready", "replicas": int64(3)}, []string{"phase", "replicas"}},
		"a long text is cut":         {map[string]any{"phase": "Ready", "log": long}, []string{"phase", "log"}},
		"a long list is left out":    {map[string]any{"phase": "Ready", "all": many}, []string{"phase", omitted}},
		"one of ten thousand fields": {lots, []string{omitted}},
	} {
		t.Run(sentence, func(t *testing.T) {
			obj := map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"}, "status": tc.status}
			s := ManifestStatus(kinds.Table{}, 0, obj, obj).Status
			if len(s.Raw) > maxStatus+conditions.MaxMessage {
				t.Errorf("%d bytes", len(s.Raw))
			}
			var got map[string]any
			if err := json.Unmarshal(s.Raw, &got); err != nil {
				t.Fatal(err)
			}
			for _, f := range tc.want {
				if _, there := got[f]; !there {
					t.Errorf("there is no %s", f)
				}
			}
		})
	}
}

func TestZ29StatusOfABinding(t *testing.T) {
	var s workv1alpha2.ResourceBindingStatus
	s.Conditions = []metav1.Condition{{Type: workv1alpha2.ConditionFullyApplied, Status: metav1.ConditionFalse, Message: messageNotFullyApplied}}
	for i := range 2000 {
		s.AggregatedStatus = append(s.AggregatedStatus, workv1alpha2.AggregatedStatusItem{
			ClusterName: fmt.Sprintf("member%d", i), AppliedMessage: strings.Repeat("no", 1000),
			Status: &runtime.RawExtension{Raw: []byte(`{"text":"` + strings.Repeat("x", 1000) + `"}`)},
		})
	}
	got := BoundBinding(s)
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 1300<<10 || len(got.AggregatedStatus) != 2000 {
		t.Errorf("%d bytes, %d clusters", len(raw), len(got.AggregatedStatus))
	}
	if want := "; 1984 more messages are in the Works alone"; !strings.HasSuffix(got.Conditions[0].Message, want) {
		t.Errorf("FullyApplied says %q", got.Conditions[0].Message)
	}
	if diff := cmp.Diff(got, BoundBinding(got)); diff != "" {
		t.Errorf("bounded once more:\n%s", diff)
	}
}

func TestZ29StatusOfAWork(t *testing.T) {
	s := workv1alpha1.WorkStatus{
		Conditions:       []metav1.Condition{{Type: "Applied", Message: strings.Repeat("x", 50000)}},
		ManifestStatuses: []workv1alpha1.ManifestStatus{{Status: &runtime.RawExtension{Raw: []byte(`{"all":[` + strings.Repeat("1,", 100000) + `1]}`)}}},
	}
	got := BoundWork(s)
	if len(got.Conditions[0].Message) > conditions.MaxMessage || len(got.ManifestStatuses[0].Status.Raw) > maxStatus {
		t.Errorf("%d bytes of a message, %d of a status", len(got.Conditions[0].Message), len(got.ManifestStatuses[0].Status.Raw))
	}
	if len(s.Conditions[0].Message) != 50000 {
		t.Error("what was given is changed")
	}
}
