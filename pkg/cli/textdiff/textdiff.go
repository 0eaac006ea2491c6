// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package textdiff compares two texts line by line.
//
// Invariants:
//   - Equal texts have an empty diff.
//   - Applied to the first text, the diff yields the second.
//
// It must not know what the texts mean.
package textdiff

import (
	"fmt"
	"strings"
)

// maxCells bounds the memory of a comparison; texts that differ in more than
// that are shown as wholly replaced.
const maxCells = 4 << 20

// Unified is the unified diff of two texts, with that many lines of context
// around each change. It has no file header.
func Unified(before, after string, context int) string {
	if before == after {
		return ""
	}
	edits := compare(lines(before), lines(after))
	var out strings.Builder
	for _, h := range hunks(edits, context) {
		h.write(&out)
	}
	return out.String()
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// edit is one line of a diff: kept (' '), removed ('-') or added ('+').
type edit struct {
	op   byte
	line string
}

// compare keeps the longest common subsequence.
func compare(a, b []string) []edit {
	var head, tail []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append([]edit{{' ', a[len(a)-1]}}, tail...)
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return append(append(head, middle(a, b)...), tail...)
}

func middle(a, b []string) []edit {
	var out []edit
	if len(a)*len(b) > maxCells {
		for _, l := range a {
			out = append(out, edit{'-', l})
		}
		for _, l := range b {
			out = append(out, edit{'+', l})
		}
		return out
	}
	common := commonLengths(a, b)
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			out = append(out, edit{'-', a[i]})
			i++
		default:
			out = append(out, edit{'+', b[j]})
			j++
		}
	}
	return out
}

// commonLengths[i][j] is the length of the longest common subsequence of a[i:]
// and b[j:].
func commonLengths(a, b []string) [][]int {
	l := make([][]int, len(a)+1)
	for i := range l {
		l[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				l[i][j] = l[i+1][j+1] + 1
			} else {
				l[i][j] = max(l[i+1][j], l[i][j+1])
			}
		}
	}
	return l
}

// hunk is a run of edits, and the lines, from 1, that it starts at.
type hunk struct {
	before, after int
	edits         []edit
}

// hunks cuts away what lies further than context from any change.
func hunks(edits []edit, context int) []hunk {
	var out []hunk
	before, after, keptUntil := 1, 1, 0
	for i, e := range edits {
		if near(edits, i, context) {
			if len(out) == 0 || keptUntil < i {
				out = append(out, hunk{before: before, after: after})
			}
			h := &out[len(out)-1]
			h.edits = append(h.edits, e)
			keptUntil = i + 1
		}
		if e.op != '+' {
			before++
		}
		if e.op != '-' {
			after++
		}
	}
	return out
}

func near(edits []edit, i, context int) bool {
	for j := max(0, i-context); j <= min(len(edits)-1, i+context); j++ {
		if edits[j].op != ' ' {
			return true
		}
	}
	return false
}

func (h hunk) write(out *strings.Builder) {
	removed, added := 0, 0
	for _, e := range h.edits {
		if e.op != '+' {
			removed++
		}
		if e.op != '-' {
			added++
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(h.before, removed), span(h.after, added))
	for _, e := range h.edits {
		out.WriteByte(e.op)
		out.WriteString(e.line)
		out.WriteByte('\n')
	}
}

// span is a range of lines; an empty one is named by the line before it.
func span(start, count int) string {
	if count == 0 {
		start--
	}
	return fmt.Sprintf("%d,%d", start, count)
}
