// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package conventions

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golang stands in the place of go: it keeps what it is asked, and answers the first
// time with SAYS_FIRST, then with SAYS_AGAIN; what says FAIL fails.
const golang = `#!/usr/bin/env bash
echo "$*" >>"$ASKED"
said=$SAYS_FIRST
[[ $(wc -l <"$ASKED") == 1 ]] || said=$SAYS_AGAIN
printf '%b\n' "$said"
[[ $said != *FAIL* && $said != *panic* ]]
`

// A test may need a second run on a busy machine; what is broken may not hide there.
func TestWhatFailsOnceHasToPassNineTimes(t *testing.T) {
	const (
		flaky = `--- FAIL: TestA (0.1s)\n    a_test.go:1: no\n    --- FAIL: TestA/row (0.1s)\nFAIL\nFAIL\tsluice.dev/pkg/a\t0.1s\nok  \tsluice.dev/pkg/b\t0.1s\nFAIL`
		also  = `--- FAIL: TestB (0.1s)\nFAIL\nFAIL\tsluice.dev/pkg/b\t0.1s\n`
		again = "test -race -timeout 5m -v -failfast -count=9 -run ^(TestA)$ sluice.dev/pkg/a"
	)
	for name, tc := range map[string]struct {
		run          string // what else go test is asked
		first, again string
		asks         []string // after the first time
		fails        bool
	}{
		"all pass":        {first: `ok  \tsluice.dev/pkg/a\t0.1s`},
		"one fails once":  {first: flaky, again: `ok  \tsluice.dev/pkg/a\t0.1s`, asks: []string{again}},
		"one fails twice": {first: flaky, again: flaky, asks: []string{again}, fails: true},
		"one of which only some parts run fails once": {run: "-run ^(TestA|TestB)$/^(row|line)$", first: flaky, again: "ok",
			asks: []string{"test -race -timeout 5m -run ^(TestA|TestB)$/^(row|line)$ -v -failfast -count=9 -run ^(TestA)$/^(row|line)$ sluice.dev/pkg/a"}},
		"a race and a failure":               {first: `WARNING: DATA RACE\n` + flaky, fails: true},
		"a race that a child told of":        {first: `    t.go:1: WARNING: DATA RACE\n` + flaky, fails: true},
		"a panic":                            {first: `--- FAIL: TestA (0s)\npanic: no\nFAIL\tsluice.dev/pkg/a\t0.1s\nFAIL`, fails: true},
		"a deadlock":                         {first: `fatal error: all goroutines are asleep - deadlock!\n` + flaky, fails: true},
		"one fails, another does not build":  {first: flaky + `\nFAIL\tsluice.dev/pkg/c [build failed]`, fails: true},
		"one fails, a package fails without": {first: flaky + `\nFAIL\tsluice.dev/pkg/c\t0.1s`, fails: true},
		"the tests end in the middle":        {first: `--- FAIL: TestA (0.1s)`, fails: true},
		"two packages fail once": {first: also + flaky, again: "ok",
			asks: []string{"test -race -timeout 5m -v -failfast -count=9 -run ^(TestA|TestB)$ sluice.dev/pkg/a sluice.dev/pkg/b"}},
		"more than three fail": {first: strings.Repeat(`--- FAIL: TestC (0s)\n`, 3) + flaky, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "go"), []byte(golang), 0o755); err != nil { //nolint:gosec // it is run
				t.Fatal(err)
			}
			asked := filepath.Join(dir, "asked")
			cmd := exec.CommandContext(t.Context(), "bash", "-uc", "source ../twice.sh; twice -v -- -race -timeout 5m $RUN ./pkg/a sluice.dev/pkg/b")
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "ASKED="+asked, "RUN="+tc.run, "SAYS_FIRST="+tc.first, "SAYS_AGAIN="+tc.again)
			out, err := cmd.CombinedOutput()
			if (err != nil) != tc.fails {
				t.Errorf("%v, want a failure %t\n%s", err, tc.fails, out)
			}
			raw, _ := os.ReadFile(asked) //nolint:gosec // the test's own
			got := strings.Split(strings.TrimSpace(string(raw)), "\n")
			first := strings.Join(strings.Fields("test -race -timeout 5m "+tc.run+" ./pkg/a sluice.dev/pkg/b"), " ")
			if want := append([]string{first}, tc.asks...); cmp.Diff(want, got) != "" {
				t.Errorf("asked go (-want +got):\n%s\n%s", cmp.Diff(want, got), out)
			}
		})
	}
}
