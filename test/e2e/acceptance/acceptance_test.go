// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../../.."

func TestPageIsUpToDate(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, pagePath))
	if err != nil {
		t.Fatal(err)
	}
	tests, err := scan(root)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(render(tests), string(page)); d != "" {
		t.Errorf("run go run ./test/e2e/acceptance (-want +is):\n%s", d)
	}
}

func TestEveryLineHasATest(t *testing.T) {
	tests, err := scan(root)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, l := range lines() {
		known[l.id] = true
		if len(tests[l.id]) == 0 && l.without == "" {
			t.Errorf("%s has no test: %s", l.id, l.says)
		}
	}
	for id, of := range tests {
		if !known[id] {
			t.Errorf("%v are named by %s, which the list does not have", of, id)
		}
	}
}

// The list that the ids come from is compared where it is there.
func TestListIsComplete(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "..", "shared", "ACCEPTANCE.md"))
	if err != nil {
		t.Skip("the acceptance list is not beside the repository:", err)
	}
	var want, have []string
	for _, m := range regexp.MustCompile(`(?m)^- \*\*(`+idPattern+`)\*\*`).FindAllStringSubmatch(string(raw), -1) {
		want = append(want, m[1])
	}
	for _, l := range lines() {
		have = append(have, l.id)
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("lines.txt (-want +is):\n%s", d)
	}
}

func TestIDs(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"a function of two lines":     {"TestST2ST3SameAPI", "ST2 ST3"},
		"a function of one":           {"TestS34ConditionNotRewritten", "S34"},
		"a name that only looks so":   {"TestStatic", ""},
		"letters that go on are none": {"TestSTable", ""},
	} {
		t.Run(name, func(t *testing.T) {
			ids := ""
			if m := inFuncName.FindStringSubmatch(tc.in); m != nil {
				ids = strings.Join(oneID.FindAllString(m[1], -1), " ")
			}
			if ids != tc.want {
				t.Errorf("got %q, want %q", ids, tc.want)
			}
		})
	}
}
