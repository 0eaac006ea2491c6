// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"
)

// step is what was measured on a rung. Counts and bytes are of one new template.
type step struct {
	rung
	held int // templates there are, those of the rungs before, too

	filled     int // at once
	fillTook   time.Duration
	fillCPU    time.Duration // the pipeline's
	fillWrites int

	restWrites   int
	restWhat     string
	restRequests float64 // a second
	restBytes    float64 // a second, with the hub
	restCPU      float64 // ms a second
	memory, peak int     // MB

	samples         int
	writes          float64 // on the hub
	requests        float64 // to hub and members
	hubKB, memberKB float64
	events          float64 // handled by all stages
	p50, p99        time.Duration
	floor           time.Duration // p50
	floorKB         float64
	floorWrites     float64
	floorRequests   float64
}

// cpu is what the pipeline computes for one of many templates, in ms.
func (s *step) cpu() float64 {
	if s.filled == 0 {
		return 0
	}
	return float64(s.fillCPU.Microseconds()) / 1000 / float64(s.filled)
}

// mostEvents is the budget for what a new template may cause.
func (s *step) mostEvents() float64 { return float64(8 + (s.members+31)/32*2) }

// check adds what has a budget to the table.
func (s *step) check(t *table) {
	where := fmt.Sprintf(" (%d members, %d templates)", s.members, s.templates)
	budget := float64(6 + 2*s.members)
	t.row(fmt.Sprintf("hub writes for a new template: ≤ 6 + 2N = %.0f%s", budget, where), verdict(s.writes <= budget, "%.1f", s.writes),
		fmt.Sprintf("audit log, %d ConfigMaps one after the other", s.samples))
	t.row("writes at rest: 0"+where, verdict(s.restWrites == 0, "%d", s.restWrites), fmt.Sprintf("audit logs, %v: %s", resting, s.restWhat))
	if s.members == 3 && s.filled >= 100 {
		t.row("own CPU for a template to 3 members: ≤ 20 ms"+where, verdict(s.cpu() <= 20, "%.1f ms", s.cpu()),
			fmt.Sprintf("the kernel's count, %d ConfigMaps at once until quiet, the sweeps meanwhile among it", s.filled))
	}
	if s.members == 3 && s.templates == 10000 {
		t.row("memory with 10,000 templates: ≤ 1 GB", verdict(s.memory <= 1024, "%d MB (at most %d MB)", s.memory, s.peak), "resident, at rest")
	}
	if s.members == 100 && s.templates == 1000 {
		t.row("template created → object in the last of 100 members, with 1,000 templates: p99 ≤ 1 s", verdict(s.p99 <= time.Second, "p50 %s, p99 %s", ms(s.p50), ms(s.p99)),
			fmt.Sprintf("%d ConfigMaps, one after the other; floor p50 %s", s.samples, ms(s.floor)))
	}
}

// flat checks that what one template costs does not depend on how many there are.
func flat(t *table, steps []step) {
	for i := range steps {
		first, last := &steps[0], &steps[i]
		for j := range steps[:i+1] {
			if steps[j].members == last.members {
				first = &steps[j]
				break
			}
		}
		if first == last {
			continue
		}
		where := fmt.Sprintf(" (%d members, %d templates against %d)", last.members, last.templates, first.templates)
		t.row("hub writes for a new template do not grow with the templates there are"+where, verdict(last.writes <= first.writes+0.5, "%.1f against %.1f", last.writes, first.writes), "audit logs")
		t.row("nor do requests, by more than a tenth"+where, verdict(last.requests <= first.requests*1.1+1, "%.1f against %.1f", last.requests, first.requests), "audit logs, less what is asked at rest")
	}
}
