// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command acceptance writes docs/acceptance.md: each line of the acceptance
// list, the tests that prove it, and what they said when they last ran.
//
// Invariants:
//   - No line of the list is missing, with or without a test.
//   - Tests are found by their names: TestL37Simple1, or a row of a table that
//     begins with the line's id.
//   - Results are those of a run that is given (go test -json), and of what that did not
//     run those that the page has already.
//
// To write the page anew:
//
//	go test -json ./test/e2e/... >results.json
//	go run ./test/e2e/acceptance -results results.json
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "the repository's `directory`")
	results := flag.String("results", "", "output of go test -json, a `file`")
	flag.Parse()
	if err := write(*root, *results); err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		os.Exit(1)
	}
}

func write(root, resultsFile string) error {
	page := filepath.Join(root, pagePath)
	old, err := os.ReadFile(page) //nolint:gosec // the repository's own
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read the page: %w", err)
	}
	results := resultsOf(string(old))
	if resultsFile != "" {
		ran, err := readResults(resultsFile)
		if err != nil {
			return fmt.Errorf("read results: %w", err)
		}
		maps.Copy(results, ran)
	}
	tests, err := scan(root)
	if err != nil {
		return fmt.Errorf("find tests: %w", err)
	}
	if err := os.WriteFile(page, []byte(render(tests, results)), 0o600); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
