// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Z14: a group's text changes with each change of one of its definitions, and with nothing
// else: not with the order in which they are listed.
func TestZ14DefinitionsTellWhichGroupsWereChanged(t *testing.T) {
	def := func(name, uid, generation string) string {
		return `{"metadata":{"name":"` + name + `","uid":"` + uid + `","generation":` + generation + `}}`
	}
	status, items := http.StatusOK, ""
	h := things(t, http.StatusNotFound, "", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" {
			t.Errorf("it asks for %s", r.URL)
		}
		w.WriteHeader(status)
		if _, err := w.Write([]byte(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[` + items + `]}`)); err != nil {
			t.Error(err)
		}
	})
	before := map[string]string{}
	for _, tc := range []struct {
		sentence, items string
		changed         []string
	}{
		{"two groups, the first one with two kinds", def("gears.a.org", "1", "1") + "," + def("wheels.a.org", "2", "1") + "," + def("gears.b.org", "3", "1"), []string{"a.org", "b.org"}},
		{"in another order", def("gears.b.org", "3", "1") + "," + def("wheels.a.org", "2", "1") + "," + def("gears.a.org", "1", "1"), nil},
		{"one was edited", def("gears.a.org", "1", "2") + "," + def("wheels.a.org", "2", "1") + "," + def("gears.b.org", "3", "1"), []string{"a.org"}},
		{"one was made anew", def("gears.a.org", "1", "2") + "," + def("wheels.a.org", "2", "1") + "," + def("gears.b.org", "4", "1"), []string{"b.org"}},
		{"one was deleted", def("gears.a.org", "1", "2") + "," + def("gears.b.org", "4", "1"), []string{"a.org"}},
	} {
		items = tc.items
		now, err := h.Definitions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var changed []string
		for _, group := range []string{"a.org", "b.org"} {
			if now[group] != before[group] {
				changed = append(changed, group)
			}
		}
		if d := cmp.Diff(tc.changed, changed); d != "" {
			t.Errorf("%s: changed (-want +got)\n%s", tc.sentence, d)
		}
		before = now
	}
	status, items = http.StatusInternalServerError, ""
	if _, err := h.Definitions(t.Context()); err == nil {
		t.Error("that the API server fails is not told")
	}
	status = http.StatusForbidden
	if now, err := h.Definitions(t.Context()); err != nil || len(now) > 0 {
		t.Errorf("where they may not be read, it says %v, %v", now, err)
	}
}
