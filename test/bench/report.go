// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// report is what ladders have shown.
type report struct {
	ladders []climbed
	budgets table
}

type climbed struct {
	ladder
	steps []step
}

// Between these lines of the page stands what was measured.
const (
	beginMark = "<!-- measured: begin (make bench-ladder writes it) -->"
	endMark   = "<!-- measured: end -->"
)

func (r *report) print(out io.Writer) {
	for _, l := range r.ladders {
		fmt.Fprintf(out, "\n### Ladder: %s\n\n", l.name)
		l.print(out)
	}
	fmt.Fprintf(out, "\n### Budgets\n\n")
	r.budgets.print(out)
}

func (l *climbed) print(out io.Writer) {
	fmt.Fprintln(out, "| members | templates | hub writes (floor) | requests (floor) | KB with the hub (floor) | KB with members | events | p50 | p99 | floor p50 | own CPU, made at once | made a second | at rest: writes, requests/s, CPU ms/s | memory (peak) |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for i := range l.steps {
		s := &l.steps[i]
		rate := "–"
		if s.filled > 0 {
			rate = fmt.Sprintf("%.1f", float64(s.filled)/s.fillTook.Seconds())
		}
		fmt.Fprintf(out, "| %d | %d | %.1f (%.0f) | %.1f (%.0f) | %.0f (%.0f) | %.0f | %.1f | %s | %s | %s | %.1f ms | %s | %d, %.1f, %.0f | %d MB (%d) |\n",
			s.members, s.templates, s.writes, s.floorWrites, s.requests, s.floorRequests, s.hubKB, s.floorKB, s.memberKB, s.events,
			ms(s.p50), ms(s.p99), ms(s.floor), s.cpu(), rate, s.restWrites, s.restRequests, s.restCPU, s.memory, s.peak)
	}
}

// write draws the curves, and puts what was measured into the page.
func (r *report) write(docs string) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n\nMeasured on %s, on %d cores (%s), by `make bench-ladder`.\n", beginMark, time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), runtime.Version())
	for i := range r.ladders {
		l := &r.ladders[i]
		file := l.file(docs)
		if err := os.WriteFile(file, l.curves(), 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&out, "\n### By %s\n\n![Curves: what a template costs, by %s](%s)\n\n", l.what, l.what, filepath.Base(file))
		l.print(&out)
	}
	fmt.Fprintf(&out, "\n### Budgets\n\n")
	r.budgets.print(&out)
	fmt.Fprintf(&out, "\n%s", endMark)
	page := filepath.Join(docs, "performance.md")
	raw, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(raw), beginMark)
	_, after, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		return errors.New(page + " has no place for what was measured")
	}
	return os.WriteFile(page, []byte(before+out.String()+after), 0o644)
}

// curves are the pictures of a ladder, side by side.
func (l *climbed) curves() []byte {
	steps := l.steps
	byMembers := l.what == "members"
	title, label := "templates that exist", "templates"
	if byMembers { // one point for each number of members
		title, label = "members that a template goes to", "members"
		steps = nil
		for _, s := range l.steps {
			if len(steps) == 0 || steps[len(steps)-1].members != s.members {
				steps = append(steps, s)
			}
		}
	}
	line := func(name string, y func(*step) float64, dashed bool) series {
		out := series{name: name, dashed: dashed}
		for i := range steps {
			x := float64(steps[i].templates)
			if byMembers {
				x = float64(steps[i].members)
			}
			out.points = append(out.points, point{x, y(&steps[i])})
		}
		return out
	}
	return draw("What a new template costs, by "+title, label, !byMembers, panels(line))
}

// panels are the pictures of a ladder, of lines through its steps.
func panels(line func(name string, y func(*step) float64, dashed bool) series) []panel {
	msec := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return []panel{
		{"hub writes for a new template", []series{
			line("Sluice", func(s *step) float64 { return s.writes }, false),
			line("floor", func(s *step) float64 { return s.floorWrites }, true),
			line("budget 6 + 2N", func(s *step) float64 { return float64(6 + 2*s.members) }, true),
		}},
		{"requests for a new template", []series{
			line("Sluice, hub and members", func(s *step) float64 { return s.requests }, false),
			line("floor", func(s *step) float64 { return s.floorRequests }, true),
		}},
		{"KB on the wire for a new template", []series{
			line("with the hub", func(s *step) float64 { return s.hubKB }, false),
			line("with the members", func(s *step) float64 { return s.memberKB }, false),
			line("floor, with the hub", func(s *step) float64 { return s.floorKB }, true),
		}},
		{"events for a new template", []series{
			line("handled by all stages", func(s *step) float64 { return s.events }, false),
			line("budget 8 + 2⌈M/32⌉", (*step).mostEvents, true),
		}},
		{"created → in the last member, ms", []series{
			line("p50", func(s *step) float64 { return msec(s.p50) }, false),
			line("p99", func(s *step) float64 { return msec(s.p99) }, false),
			line("floor p50", func(s *step) float64 { return msec(s.floor) }, true),
		}},
		{"own CPU for a template, made at once, ms", []series{
			line("Sluice", (*step).cpu, false),
		}},
		{"memory, MB", []series{
			line("resident at rest", func(s *step) float64 { return float64(s.memory) }, false),
			line("at most", func(s *step) float64 { return float64(s.peak) }, true),
		}},
		{"at rest, a second", []series{
			line("requests", func(s *step) float64 { return s.restRequests }, false),
			line("writes", func(s *step) float64 { return float64(s.restWrites) / resting.Seconds() }, false),
			line("own CPU, ms", func(s *step) float64 { return s.restCPU }, false),
		}},
	}
}
