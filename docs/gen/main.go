// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command gen writes what of the documents is decided in the code: docs/commands.md
// from the help of the commands, and the tables of docs/fields.md from the lists of the
// fields that nobody acts on.
//
//	go generate ./docs/gen
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run .

func main() {
	// go generate runs it here.
	if err := write(".."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write brings the documents of a folder up to date.
func write(docs string) error {
	fields, err := fieldsPage(docs)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(docs, "commands.md"), commandsPage(), 0o644), //nolint:gosec // everybody may read it
		os.WriteFile(filepath.Join(docs, "fields.md"), fields, 0o644),           //nolint:gosec // everybody may read it
	)
}
