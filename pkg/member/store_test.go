// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

func createAs(manager string) metav1.CreateOptions {
	return metav1.CreateOptions{FieldManager: manager}
}

func seen(version string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetName("a")
	u.SetLabels(map[string]string{propagation.LabelMemberWork: "w"})
	u.SetResourceVersion(version)
	return u
}

// happened is what a watch tells of an object.
func happened(s *store, u *unstructured.Unstructured, deleted bool) event {
	raw, err := json.Marshal(u.Object)
	if err != nil {
		panic(err)
	}
	e, err := s.decode(raw)
	if err != nil {
		panic(err)
	}
	e.deleted = deleted
	return e
}

// are is what a list tells of objects.
func are(s *store, objects []*unstructured.Unstructured) (all []event) {
	for _, u := range objects {
		all = append(all, happened(s, u, false))
	}
	return all
}

// announcing returns a store that notes the versions which it announces, "-" in front of a
// deletion.
func announcing(t *testing.T, got *[]string) *store {
	return newStore(configMaps, func(c Change) {
		if c.Deleted {
			c.Version = "-" + c.Version
		}
		*got = append(*got, c.Version)
		if c.Ref != (Ref{APIVersion: "v1", Kind: "ConfigMap", Name: "a"}) || c.Work != "w" {
			t.Errorf("change %+v", c)
		}
	})
}

func TestStore(t *testing.T) {
	type step = func(s *store)
	event := func(version string) step { return func(s *store) { s.see(happened(s, seen(version), false)) } }
	gone := func(version string) step { return func(s *store) { s.see(happened(s, seen(version), true)) } }
	begin := func(s *store) { s.begin("/a") }
	answer := func(version string) step {
		return func(s *store) { s.end("/a", applying.Observe(seen(version).Object, false)) }
	}
	failed := func(s *store) { s.end("/a", nil) }
	list := func(version string, objects ...*unstructured.Unstructured) step {
		return func(s *store) {
			s.replace(are(s, objects), version)
		}
	}
	for name, tc := range map[string]struct {
		steps []step
		want  []string // versions announced, "-" in front of a deletion
		holds string   // version in the store
	}{
		"what is there is announced":                         {[]step{list("9", seen("5"))}, []string{"5"}, "5"},
		"listed again it is no news":                         {[]step{list("9", seen("5")), list("10", seen("5"))}, []string{"5"}, "5"},
		"a change is announced":                              {[]step{event("5"), event("6")}, []string{"5", "6"}, "6"},
		"an earlier state is not":                            {[]step{event("6"), event("5")}, []string{"6"}, "6"},
		"a deletion is":                                      {[]step{event("5"), gone("7")}, []string{"5", "-7"}, ""},
		"a deletion that a later state made old is not":      {[]step{event("8"), gone("7")}, []string{"8"}, "8"},
		"the deletion of what was never seen is not":         {[]step{gone("7")}, nil, ""},
		"what is missing in a list was deleted":              {[]step{event("5"), list("9")}, []string{"5", "-9"}, ""},
		"but not what was written after the list":            {[]step{begin, answer("10"), list("9")}, nil, "10"},
		"the event before the answer is no news":             {[]step{begin, event("5"), answer("5")}, nil, "5"},
		"the event after the answer is no news":              {[]step{begin, answer("5"), event("5")}, nil, "5"},
		"a foreign change before the answer is news":         {[]step{begin, event("5"), event("6"), answer("5")}, []string{"6"}, "6"},
		"a foreign change that our write saw is none":        {[]step{begin, event("4"), answer("5")}, nil, "5"},
		"a write that failed gives way to what was seen":     {[]step{begin, event("4"), failed}, []string{"4"}, "4"},
		"a deletion behind our write is news":                {[]step{begin, event("5"), gone("7"), answer("5")}, []string{"-7"}, ""},
		"two writers: the last to end gives way":             {[]step{begin, begin, event("5"), answer("5"), event("6"), answer("6")}, nil, "6"},
		"versions that are no numbers differ or do not":      {[]step{event("x"), event("x"), event("y")}, []string{"x", "y"}, "y"},
		"an answer that is older than what was seen is none": {[]step{event("6"), begin, answer("5")}, []string{"6"}, "6"},
		"restored, what is there is news":                    {[]step{event("8"), list("6", seen("5"))}, []string{"8", "5"}, "5"},
		"restored, what it lost is gone":                     {[]step{event("8"), list("6")}, []string{"8", "-6"}, ""},
		"restored, what follows counts anew":                 {[]step{event("8"), list("6", seen("5")), event("7")}, []string{"8", "5", "7"}, "7"},
		"restored, what others told tells of it":             {[]step{begin, answer("8"), list("9", seen("8")), list("6")}, []string{"-6"}, ""},
		"restored and long at work, an older state is news":  {[]step{event("8"), list("20", seen("5"))}, []string{"8", "5"}, "5"},
		"restored and long at work, what it lost is gone":    {[]step{event("8"), list("20")}, []string{"8", "-20"}, ""},
		"restored while we write, the answer is believed":    {[]step{event("8"), begin, list("6", seen("5")), answer("7")}, []string{"8"}, "7"},
		"restored while we write, a failure is no news":      {[]step{event("8"), begin, event("9"), list("6", seen("5")), failed}, []string{"8", "5"}, "5"},
		"a list that is older than our write is none":        {[]step{event("5"), begin, answer("10"), list("9", seen("5"))}, []string{"5"}, "10"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			s := announcing(t, &got)
			for _, step := range tc.steps {
				step(s)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("announced (-want +got):\n%s", diff)
			}
			holds := ""
			if o := s.get("/a"); o != nil {
				holds = o.Version
			}
			if holds != tc.holds || len(s.writing) != 0 {
				t.Errorf("holds %q, want %q; %d writes under way", holds, tc.holds, len(s.writing))
			}
		})
	}
	s := newStore(configMaps, nil)
	for _, raw := range []string{`"what"`, `3`, `null`, `[]`, `{`} {
		if _, err := s.decode([]byte(raw)); err == nil {
			t.Errorf("%s is taken for an object", raw)
		}
	}
}

// What this process deletes is no news, in whatever order the watch and the answer tell of
// it; what somebody makes under its name is.
func TestStoreTellsNoDeletionOfItsOwn(t *testing.T) {
	type step = func(s *store)
	of := func(uid types.UID, version string) *unstructured.Unstructured {
		u := seen(version)
		u.SetUID(uid)
		return u
	}
	event := func(uid types.UID, version string) step {
		return func(s *store) { s.see(happened(s, of(uid, version), false)) }
	}
	gone := func(uid types.UID, version string) step {
		return func(s *store) { s.see(happened(s, of(uid, version), true)) }
	}
	list := func(version string, objects ...*unstructured.Unstructured) step {
		return func(s *store) { s.replace(are(s, objects), version) }
	}
	begin := func(s *store) { s.begin("/a") }
	left := func(s *store) { s.leave("/a", "1"); s.end("/a", nil) }
	refused := func(s *store) { s.end("/a", nil) }
	for name, tc := range map[string]struct {
		steps []step
		want  []string
	}{
		"the watch tells of it afterwards":                   {[]step{begin, left, gone("1", "7")}, nil},
		"the watch tells of it before the answer":            {[]step{begin, gone("1", "7"), left}, nil},
		"the watch is behind":                                {[]step{begin, left, event("1", "6"), gone("1", "7")}, nil},
		"a list comes first":                                 {[]step{begin, left, list("9")}, nil},
		"somebody makes it again":                            {[]step{begin, left, gone("1", "7"), event("2", "8")}, []string{"8"}},
		"somebody makes it again before the answer":          {[]step{begin, gone("1", "7"), event("2", "8"), left}, []string{"8"}},
		"and deletes that":                                   {[]step{begin, left, gone("1", "7"), event("2", "8"), gone("2", "9")}, []string{"8", "-9"}},
		"the deletion was refused, and somebody else's came": {[]step{begin, refused, gone("1", "7")}, []string{"-7"}},
		"the member is restored, and has it again":           {[]step{begin, left, gone("1", "7"), list("6", of("1", "5"))}, []string{"5"}},
		"restored before the watch told of it":               {[]step{begin, left, list("6", of("1", "5")), gone("1", "9")}, []string{"5", "-9"}},
		"another object has the name by now":                 {[]step{event("2", "6"), begin, left, gone("2", "7")}, []string{"6", "-7"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			s := announcing(t, &got)
			event("1", "5")(s)
			got = nil
			for _, step := range tc.steps {
				step(s)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("announced (-want +got):\n%s", diff)
			}
			if len(s.left)+len(s.writing) > 0 {
				t.Errorf("kept: %v, %v", s.left, s.writing)
			}
		})
	}
}

// What the watch saw last of a Job that is gone tells whether it had ended: its Work
// may not have heard of that yet.
func TestZ20TheEndOfAJobIsRemembered(t *testing.T) {
	jobs := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	job := func(name, version, end string) *unstructured.Unstructured {
		u := seen(version)
		u.SetName(name)
		u.SetAPIVersion("batch/v1")
		u.SetKind("Job")
		u.SetUID(types.UID("uid of " + name))
		u.Object["spec"] = map[string]any{"ttlSecondsAfterFinished": int64(1)}
		if end != "" {
			u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": end, "status": "True"}}}
		}
		return u
	}
	s := newStore(jobs, func(Change) {})
	end := func(name, how string) {
		t.Helper()
		s.begin("/" + name)
		written := applying.Observe(job(name, "5", "").Object, false)
		written.For = "work"
		s.end("/"+name, written)
		s.see(happened(s, job(name, "6", ""), false))
		s.see(happened(s, job(name, "7", how), true))
	}
	end("complete", "Complete")
	if last := s.over("/complete"); last == nil || last.For != "work" || last.UID != "uid of complete" || s.get("/complete") != nil {
		t.Errorf("remembered is %+v", last)
	}
	end("running", "")
	if last := s.over("/running"); last != nil {
		t.Errorf("remembered is %+v", last)
	}
	for i := range mostEnded {
		end(fmt.Sprint(i), "Failed")
	}
	if s.over("/complete") != nil || s.over("/0") == nil || len(s.ended) != mostEnded || len(s.order) != mostEnded {
		t.Errorf("%d are remembered, and %d in order", len(s.ended), len(s.order))
	}
	read, err := Answer(nil, &endedError{outcome.ErrGone, s.over("/0")})
	if err != nil || read.Answer != applying.Absent || read.Last == nil {
		t.Errorf("the answer is %+v: %v", read, err)
	}
}

// Only what somebody did to what Sluice applied is paced: a status is told at once.
func TestStoreTellsWhatWasTouched(t *testing.T) {
	managed := func(u *unstructured.Unstructured, fields string) *unstructured.Unstructured {
		u.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
			"manager": propagation.FieldManager, "operation": "Apply", "fieldsV1": map[string]any{fields: map[string]any{}},
		}}
		return u
	}
	was := func() *unstructured.Unstructured { return managed(seen("5"), "f:spec") }
	for name, tc := range map[string]struct {
		then    func(u *unstructured.Unstructured)
		deleted bool
		want    bool
	}{
		"its status":                   {then: func(u *unstructured.Unstructured) { u.Object["status"] = map[string]any{"ready": true} }},
		"a finalizer of somebody else": {then: func(u *unstructured.Unstructured) { u.Object["metadata"].(map[string]any)["finalizers"] = []any{"a"} }},
		"a field that was applied":     {then: func(u *unstructured.Unstructured) { managed(u, "f:data") }, want: true},
		"the mark of another manifest": {then: func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{applying.AnnotationManifest: "other"})
		}, want: true},
		"the mark of another hub": {then: func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{applying.AnnotationHub: "other"})
		}, want: true},
		"it was made anew": {then: func(u *unstructured.Unstructured) { u.SetUID("new") }, want: true},
		"it was deleted":   {then: func(*unstructured.Unstructured) {}, deleted: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			var told []bool
			s := newStore(configMaps, func(c Change) { told = append(told, c.Touched) })
			s.see(happened(s, was(), false))
			next := was()
			tc.then(next)
			next.SetResourceVersion("6")
			s.see(happened(s, next, tc.deleted))
			if diff := cmp.Diff([]bool{false, tc.want}, told); diff != "" {
				t.Errorf("touched (-want +got):\n%s", diff)
			}
		})
	}
}
