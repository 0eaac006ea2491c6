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

// withoutResults takes the last column away: it changes with each run.
func withoutResults(page string) string {
	return regexp.MustCompile(`(?m)\| [^|]* \|$`).ReplaceAllString(page, "|")
}

func TestPageIsUpToDate(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, pagePath))
	if err != nil {
		t.Fatal(err)
	}
	tests, err := scan(root)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(withoutResults(render(tests, nil)), withoutResults(string(page))); d != "" {
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

func TestWhatIsSkippedIsNoPass(t *testing.T) {
	for name, tc := range map[string]struct {
		test  string
		parts map[string]string
		want  string
	}{
		"it has no parts":              {"passes", nil, "passes"},
		"all of them passed":           {"passes", map[string]string{"T/a": "passes", "T/b": "passes"}, "passes"},
		"one of them was skipped":      {"passes", map[string]string{"T/a": "passes", "T/b": "skipped"}, partly},
		"all of them were skipped":     {"passes", map[string]string{"T/a": "skipped", "T/b": "skipped"}, "skipped"},
		"all parts of its one part":    {"passes", map[string]string{"T/a": "passes", "T/a/x": "skipped"}, "skipped"},
		"it fails, whatever its parts": {"fails", map[string]string{"T/a": "skipped"}, "fails"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := withParts(map[string]string{"T": tc.test}, tc.parts)["T"]; got != tc.want {
				t.Errorf("it %s, want %s", got, tc.want)
			}
		})
	}
}

// What a run says is written where it ran, and what the page said before stays where it
// did not, however long the lines are that tests wrote.
func TestResultsOfARunAreWritten(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"test/e2e/placements_test.go": "package e2e\n\nimport \"testing\"\n\nfunc TestC1Ran(t *testing.T) {}\nfunc TestC2Failed(t *testing.T) {}\nfunc TestC3NotThisTime(t *testing.T) {}\nfunc TestC4Never(t *testing.T) {}\n",
		pagePath:                      "| C3 | it says | `TestC3NotThisTime` | passes |\n| C1 | it says | `TestC1Ran` | fails |\n",
		"results.json": `{"Action":"output","Package":"sluice.dev/test/e2e","Test":"TestC1Ran","Output":"` + strings.Repeat("x", 1<<20) + `"}` + "\n" +
			`{"Action":"pass","Package":"sluice.dev/test/e2e","Test":"TestC1Ran"}` + "\n" +
			`{"Action":"fail","Package":"sluice.dev/test/e2e","Test":"TestC2Failed"}`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(dir, filepath.Join(dir, "results.json")); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, pagePath))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"C1": "passes", "C2": "fails", "C3": "passes", "C4": ""} {
		m := regexp.MustCompile(`(?m)^\| ` + id + ` \| .* \| ([^|]*) \|$`).FindStringSubmatch(string(page))
		if m == nil || m[1] != want {
			t.Errorf("%s: the page says %q, want %q", id, m, want)
		}
	}
}
