// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func contractOf(t *testing.T) (root string, c *contract) {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	c, err = readContract(root)
	if err != nil {
		t.Fatal(err)
	}
	return root, c
}

func TestEveryTypeHasAnEmitter(t *testing.T) {
	_, c := contractOf(t)
	for _, e := range c.types {
		if len(e.emittedBy) == 0 {
			t.Errorf("%s: nobody emits it", e.name)
		} else if !slices.Contains(e.emittedBy, e.Stage) && !slices.Contains(e.emittedBy, everyStage) {
			t.Errorf("%s: the Catalog says that the %s emits it, and the code has %q", e.name, e.Stage, e.emittedBy)
		}
	}
}

// A type of the row before it may be named by its last word: `template.claimed`, `.released`.
var quoted = regexp.MustCompile("`([a-z]*)\\.([a-z]+)`")

func TestTheTableOfFunctionsSaysWhatEachEmits(t *testing.T) {
	root, c := contractOf(t)
	raw, err := os.ReadFile(filepath.Join(root, "functions", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for row := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.TrimSpace(row), " | ")
		stage, linked := strings.CutPrefix(cells[0], "| [")
		if !linked || len(cells) != 5 {
			continue
		}
		rows++
		stage, _, _ = strings.Cut(stage, "]")
		var said, does []string
		subject := ""
		for _, m := range quoted.FindAllStringSubmatch(cells[4], -1) {
			if m[1] != "" {
				subject = m[1]
			}
			said = append(said, ownTypes+subject+"."+m[2])
		}
		for _, e := range c.types {
			if slices.Contains(e.emittedBy, stage) {
				does = append(does, e.name)
			}
		}
		slices.Sort(said)
		slices.Sort(does)
		if said = slices.Compact(said); !slices.Equal(said, does) {
			t.Errorf("%s emits\n\t%q, the table in functions/README.md says\n\t%q", stage, does, said)
		}
	}
	if rows == 0 {
		t.Error("found no rows")
	}
}
