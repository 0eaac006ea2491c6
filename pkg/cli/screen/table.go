// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"strings"
	"unicode/utf8"
)

// Paint is the meaning of a cell; terminals show it as a colour.
type Paint string

// The paints.
const (
	Plain Paint = ""
	Good  Paint = "\x1b[32m"
	Bad   Paint = "\x1b[31m"
	Warn  Paint = "\x1b[33m"
	Dim   Paint = "\x1b[2m"
	Bold  Paint = "\x1b[1m"
)

const reset = "\x1b[0m"

// Cell is one field of a table.
type Cell struct {
	Text  string
	Paint Paint
}

// Text returns a cell without a paint; a dash if the text is empty.
func Text(s string) Cell {
	if s == "" {
		return Cell{Text: "-"}
	}
	return Cell{Text: s}
}

// Column of a table. A wide one is only shown on request.
type Column struct {
	Title string
	Wide  bool
}

// Columns returns plain columns with these titles.
func Columns(titles ...string) []Column {
	out := make([]Column, len(titles))
	for i, t := range titles {
		out[i] = Column{Title: t}
	}
	return out
}

const gap = 3

// Table writes rows under titles; each row has a cell for each column. Every
// line starts with indent.
func (s *Screen) Table(indent string, columns []Column, rows [][]Cell, wide bool) {
	g := s.Grid(indent, columns, wide)
	g.Fit(rows)
	g.Titles()
	g.Rows(rows)
}

// Grid is a table that rows are added to: its columns become as wide as what has been
// written, and never narrower.
type Grid struct {
	screen  *Screen
	indent  string
	columns []Column
	widths  []int
	wide    bool
}

// Grid begins a table.
func (s *Screen) Grid(indent string, columns []Column, wide bool) *Grid {
	g := &Grid{screen: s, indent: indent, columns: columns, widths: make([]int, len(columns)), wide: wide}
	for i, c := range columns {
		g.widths[i] = utf8.RuneCountInString(c.Title)
	}
	return g
}

// Fit makes the columns as wide as the rows need.
func (g *Grid) Fit(rows [][]Cell) {
	for _, r := range rows {
		for i, c := range r {
			g.widths[i] = max(g.widths[i], utf8.RuneCountInString(c.Text))
		}
	}
}

// Titles writes the line of titles.
func (g *Grid) Titles() {
	titles := make([]Cell, len(g.columns))
	for i, c := range g.columns {
		titles[i] = Cell{Text: c.Title}
	}
	g.Rows([][]Cell{titles})
}

// Rows writes a line each.
func (g *Grid) Rows(rows [][]Cell) {
	g.Fit(rows)
	for _, r := range rows {
		var line strings.Builder
		for i, c := range r {
			if g.columns[i].Wide && !g.wide {
				continue
			}
			line.WriteString(g.screen.Paint(c.Paint, c.Text))
			line.WriteString(strings.Repeat(" ", g.widths[i]-utf8.RuneCountInString(c.Text)+gap))
		}
		g.screen.Println(g.indent + strings.TrimRight(line.String(), " "))
	}
}

// Paint returns the text in its colour, if there are colours.
func (s *Screen) Paint(p Paint, text string) string {
	if p == Plain || !s.colours {
		return text
	}
	return string(p) + text + reset
}

// Diff writes a unified diff, with added and removed lines in colour.
func (s *Screen) Diff(indent, diff string) {
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		paint := Plain
		switch {
		case strings.HasPrefix(line, "+"):
			paint = Good
		case strings.HasPrefix(line, "-"):
			paint = Bad
		case strings.HasPrefix(line, "@"):
			paint = Dim
		}
		s.Println(indent + s.Paint(paint, line))
	}
}
