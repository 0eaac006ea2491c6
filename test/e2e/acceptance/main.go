// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command acceptance writes docs/acceptance.md: each line of the acceptance
// list, and the tests that prove it.
//
// Invariants:
//   - No line of the list is missing, with or without a test.
//   - Tests are found by their names: TestL37Simple1, or a row of a table that
//     begins with the line's id.
//
// It must not say what became of a test: .ci/run runs them all, and a page is older.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "the repository's `directory`")
	flag.Parse()
	if err := write(*root); err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	tests, err := scan(root)
	if err != nil {
		return fmt.Errorf("find tests: %w", err)
	}
	if err := os.WriteFile(filepath.Join(root, pagePath), []byte(render(tests)), 0o600); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
