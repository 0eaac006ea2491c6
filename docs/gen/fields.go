// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sluice.dev/pkg/core/propagation"
)

// tables are those of docs/fields.md, by the names of their places in it.
var tables = map[string][]row{
	"policies": rows(propagation.PolicyFields),
	"bindings": rows(propagation.BindingFields),
	"works":    rows(propagation.WorkFields),
	"clusters": rows(propagation.ClusterFields),
}

// row is a field of some kind.
type row struct {
	path, part, today, by string
	// told is whether an object that sets it says that it has no effect.
	told bool
}

func rows[Spec any](fields []propagation.Field[Spec]) []row {
	var out []row
	for _, f := range fields {
		out = append(out, row{f.Path, f.Part, f.Today, f.By, f.Vain != nil})
	}
	return out
}

const end = "<!-- end -->"

// fieldsPage is docs/fields.md with its tables as they have to be; what stands around
// them is written by hand.
func fieldsPage(docs string) ([]byte, error) {
	page, err := os.ReadFile(filepath.Join(docs, "fields.md")) //nolint:gosec // our own
	if err != nil {
		return nil, err
	}
	for name, fields := range tables {
		begin := fmt.Appendf(nil, "<!-- fields: %s -->\n", name)
		before, rest, found := bytes.Cut(page, begin)
		_, after, ended := bytes.Cut(rest, []byte(end))
		if !found || !ended {
			return nil, fmt.Errorf("fields.md has no place for the table of %s: want %s and %s", name, bytes.TrimSpace(begin), end)
		}
		page = bytes.Join([][]byte{before, begin, table(fields), []byte(end), after}, nil)
	}
	return page, nil
}

func table(fields []row) []byte {
	out := bytes.NewBufferString("\n| field | today | will be acted on by |\n|---|---|---|\n")
	for _, f := range fields {
		name := "`" + f.path + "`"
		if f.part != "" {
			name += " " + f.part
		}
		if f.told {
			name += " ⚠"
		}
		fmt.Fprintf(out, "| %s | %s | %s |\n", name, cell(f.today), cell(f.by))
	}
	out.WriteString("\n")
	return out.Bytes()
}

// cell is text that stays within its cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
