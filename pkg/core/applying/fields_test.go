// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

type fields = map[string]any

// A field that belongs to the member is neither taken back nor let fall to its default.
func TestLeaveFields(t *testing.T) {
	owned := func(others fields) applying.Observed {
		return *applying.Observe(fields{
			"metadata": fields{"managedFields": []any{
				fields{"manager": "sluice", "operation": "Apply", "fieldsV1": fields{"f:spec": fields{"f:paused": fields{}, "f:size": fields{}}}},
				fields{"manager": "controller", "operation": "Update", "fieldsV1": others},
			}},
			"spec": fields{"size": int64(2), "paused": true, "pool": fields{"a": int64(7)}},
		}, true)
	}
	status := fields{"f:status": fields{"f:paused": fields{}}}
	for name, tc := range map[string]struct {
		paths  string
		others fields
		asked  fields
		want   fields
	}{
		"no field is the member's":              {"", status, fields{"paused": false}, fields{"paused": false}},
		"one that somebody else owns goes":      {"spec.paused", fields{"f:spec": fields{"f:paused": fields{}}}, fields{"size": int64(3), "paused": false}, fields{"size": int64(3)}},
		"one that nobody else owns stays":       {"spec.paused", status, fields{"paused": false}, fields{"paused": true}},
		"one that the template says nothing of": {"spec.paused", status, fields{"size": int64(3)}, fields{"size": int64(3)}},
		"one that the member does not have":     {"spec.new", status, fields{"new": "a"}, fields{"new": "a"}},
		"one deeper down":                       {"spec.pool.a", fields{"f:spec": fields{"f:pool": fields{"f:a": fields{}}}}, fields{"pool": fields{"a": int64(1), "b": int64(2)}}, fields{"pool": fields{"b": int64(2)}}},
		"beside one that somebody owns":         {"spec.pool.a", fields{"f:spec": fields{"f:pool": fields{"f:b": fields{}}}}, fields{"pool": fields{"a": int64(1)}}, fields{"pool": fields{"a": int64(7)}}},
		"in one that somebody owns as a whole":  {"spec.pool.a", fields{"f:spec": fields{"f:pool": fields{}}}, fields{"pool": fields{"a": int64(1)}}, fields{"pool": fields{}}},
		"two fields":                            {"spec.paused,spec.size", status, fields{"size": int64(3), "paused": false}, fields{"size": int64(2), "paused": true}},
	} {
		live := owned(tc.others)
		w := &propagation.Work{Annotations: map[string]string{propagation.AnnotationMemberFields: tc.paths}}
		asked := fields{"spec": tc.asked}
		desired := applying.Desired(w, "hub", asked)
		before := propagation.HashJSON(asked)
		applying.LeaveFields(w, desired, &live)
		if d := cmp.Diff(tc.want, desired["spec"]); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
		if propagation.HashJSON(asked) != before {
			t.Errorf("%s: the manifest itself was changed", name)
		}
	}
}
