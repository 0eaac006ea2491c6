// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/evanphx/json-patch.v4"
)

func TestPatchOf(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"nothing changed":                         {`{"a":{"b":[1]}}`, `{"a":{"b":[1]}}`, `null`},
		"a field is added":                        {`{}`, `{"a":1}`, `{"a":1}`},
		"a field is taken away":                   {`{"a":1,"b":2}`, `{"b":2}`, `{"a":null}`},
		"a field below is another":                {`{"a":{"b":1,"c":2}}`, `{"a":{"b":3,"c":2}}`, `{"a":{"b":3}}`},
		"a list is put in the place of another":   {`{"a":[1,2]}`, `{"a":[2]}`, `{"a":[2]}`},
		"an object is put in the place of text":   {`{"a":"b"}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`},
		"an integer differs beyond 53 bits":       {`{"a":9007199254740992}`, `{"a":9007199254740993}`, `{"a":9007199254740993}`},
		"an integer beyond 53 bits stands beside": {`{"a":9007199254740993,"b":1}`, `{"a":9007199254740993,"b":2}`, `{"b":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := patchOf(json.RawMessage(tc.old), json.RawMessage(tc.new))
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, string(raw)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if got == nil {
				return
			}
			patched, err := jsonpatch.MergePatch([]byte(tc.old), raw)
			if err != nil || !jsonpatch.Equal(patched, []byte(tc.new)) {
				t.Errorf("applied it makes %s, %v; want %s", patched, err, tc.new)
			}
		})
	}
}

// Why patchOf is no call of jsonpatch.CreateMergePatch: that compares numbers as
// floating point, and a change of a large one is lost. Where this fails, it is mended.
func TestTheLibraryLosesLargeIntegers(t *testing.T) {
	got, err := jsonpatch.CreateMergePatch([]byte(`{"a":9007199254740992}`), []byte(`{"a":9007199254740993}`))
	if err != nil || string(got) != `{}` {
		t.Errorf("it makes %s, %v: patchOf may be that call now", got, err)
	}
}
