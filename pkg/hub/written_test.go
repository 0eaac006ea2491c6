// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestLastUserWrite(t *testing.T) {
	created := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	const data = `{"f:data":{".":{},"f:a":{}}}`
	type entry struct {
		manager, subresource, fields string
		after                        int // seconds after the object was made
	}
	for name, tc := range map[string]struct {
		entries []entry
		want    int
	}{
		"nobody wrote anything that is noted":         {nil, 0},
		"a user's write counts":                       {[]entry{{"kubectl", "", data, 3}}, 3},
		"the last one counts":                         {[]entry{{"kubectl", "", data, 3}, {"helm", "", data, 5}, {"kubectl-edit", "", data, 4}}, 5},
		"Sluice's own does not":                       {[]entry{{"kubectl", "", data, 3}, {"sluice", "", data, 5}}, 3},
		"nor does the status":                         {[]entry{{"kubectl", "", data, 3}, {"kubelet", "status", data, 5}}, 3},
		"nor what the command marks":                  {[]entry{{"kubectl", "", data, 3}, {"kubectl-sluice", "", `{"f:metadata":{"f:annotations":{"f:sluice.dev/suspended":{}}}}`, 5}}, 3},
		"nor its mark where there was no annotation":  {[]entry{{"kubectl", "", data, 3}, {"kubectl-sluice", "", `{"f:metadata":{"f:annotations":{".":{},"f:sluice.dev/suspended":{}}}}`, 5}}, 3},
		"nor the mark that a user sets by hand":       {[]entry{{"kubectl", "", data, 3}, {"kubectl-label", "", `{"f:metadata":{"f:labels":{"f:resourcetemplate.karmada.io/retain-replicas":{}}}}`, 5}}, 3},
		"what the command rolled back does":           {[]entry{{"kubectl", "", data, 3}, {"kubectl-sluice", "", `{"f:metadata":{"f:annotations":{"f:sluice.dev/suspended":{}}},"f:data":{"f:a":{}}}`, 5}}, 5},
		"so does a user's annotation":                 {[]entry{{"kubectl", "", data, 3}, {"kubectl-annotate", "", `{"f:metadata":{"f:annotations":{"f:note":{},"f:sluice.dev/suspended":{}}}}`, 5}}, 5},
		"so does a label that only looks like a mark": {[]entry{{"kubectl", "", data, 3}, {"kubectl-label", "", `{"f:metadata":{"f:labels":{"f:namespace.karmada.io/skip-auto-propagation":{}}}}`, 5}}, 5},
		"so does a finalizer":                         {[]entry{{"kubectl", "", data, 3}, {"somebody", "", `{"f:metadata":{"f:finalizers":{".":{},"v:\"sluice.dev/x\"":{}}}}`, 5}}, 5},
		"so does a field of the whole object":         {[]entry{{"kubectl", "", data, 3}, {"somebody", "", `{"f:immutable":{}}`, 5}}, 5},
		"so does what does not say its fields":        {[]entry{{"kubectl", "", data, 3}, {"somebody", "", "", 5}}, 5},
		"so does what cannot be read":                 {[]entry{{"kubectl", "", data, 3}, {"somebody", "", `{"f:metadata":[]}`, 5}}, 5},
		"of nothing but marks, its creation counts":   {[]entry{{"kubectl-sluice", "", `{"f:metadata":{"f:annotations":{"f:sluice.dev/suspended":{}}}}`, 5}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}
			for _, e := range tc.entries {
				f := metav1.ManagedFieldsEntry{Manager: e.manager, Subresource: e.subresource, Operation: metav1.ManagedFieldsOperationUpdate}
				at := metav1.NewTime(created.Add(time.Duration(e.after) * time.Second))
				if f.Time = &at; e.fields != "" {
					f.FieldsV1 = &metav1.FieldsV1{Raw: []byte(e.fields)}
				}
				m.ManagedFields = append(m.ManagedFields, f)
			}
			if got := lastUserWrite(&m).Sub(created); got != time.Duration(tc.want)*time.Second {
				t.Errorf("%v after it was made, want %d s", got, tc.want)
			}
		})
	}
}
