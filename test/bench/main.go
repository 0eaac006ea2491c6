// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures Sluice's budgets and prints one table, as markdown:
// budget, measured, how.
//
// It starts a lab of its own in a temporary directory and the pipeline as a
// child, and ends both. Requests are counted in the API servers' audit logs, by
// user agent, so that nothing that the pipeline says of itself is believed.
//
// Times are compared with the floor: the very requests that the pipeline made
// for a template, replayed to the same API servers by one loop that watches
// nothing, queues nothing and decides nothing. Floor and pipeline take turns, so
// that a busy machine is as busy for one as for the other. The ratio is what
// tells; the times are this machine's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
)

// options of a run.
type options struct {
	bin       string // folder of the programs kube, lab and standalone
	dir       string // of the lab; empty: a temporary one
	members   int
	samples   int    // templates whose latency is measured
	burst     int    // templates that are created at once
	rounds    int    // of floor and pipeline in turns
	templates int    // that a restart finds
	only      string // phases, separated by commas; empty: all
	profile   string // folder for CPU profiles; empty: the real program runs, unprofiled
	simulated bool   // the members are
	ladder    string // short, full, or the name of one; empty: the phases run
	docs      string // folder that gets the ladder's curves and its page; empty: none
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == profiledChild {
		runProfiled(os.Args[2:])
		return
	}
	if len(os.Args) > 1 && os.Args[1] == simulatedChild {
		if err := runSimulated(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "simulated members:", err)
			os.Exit(1)
		}
		return
	}
	o, full := options{}, false
	flag.StringVar(&o.bin, "bin", "_output/bin", "`folder` of kube, lab and standalone")
	flag.StringVar(&o.dir, "dir", "", "`folder` of the lab, which stays (default: a temporary one)")
	flag.IntVar(&o.members, "members", 3, "`number` of members")
	flag.IntVar(&o.samples, "samples", 30, "`number` of templates whose latency is measured")
	flag.IntVar(&o.burst, "burst", 200, "`number` of templates created at once")
	flag.IntVar(&o.rounds, "rounds", 2, "`times` that floor and pipeline take turns")
	flag.IntVar(&o.templates, "templates", 1000, "`number` of templates that a restart finds")
	flag.BoolVar(&full, "full", false, "with 5,000 templates, as the budget says")
	flag.StringVar(&o.only, "only", "", "`phases` to run, separated by commas: "+strings.Join(phaseNames(), ", "))
	flag.StringVar(&o.profile, "profile", "", "`folder` for profiles of computing and memory; what they cost is in the times")
	flag.BoolVar(&o.simulated, "simulated", false, "with simulated members in the place of real ones")
	flag.StringVar(&o.ladder, "ladder", "", "climb a ladder with simulated members instead: short, small, full, templates or members")
	flag.StringVar(&o.docs, "docs", "", "`folder` that gets performance.md's measurements and curves")
	flag.Parse()
	if full {
		o.templates = 5000
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		if why := context.Cause(ctx); why != nil {
			err = why // such as: a signal was received
		}
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// phase is a part of the run. They share the lab, so their order counts.
type phase struct {
	name    string
	measure func(*bench, context.Context) error
}

var phases = []phase{
	{"writes", (*bench).writes},
	{"policy", (*bench).policyEvents},
	{"latency", (*bench).latency},
	{"burst", (*bench).bursts},
	{"changes", (*bench).befall},
	{"fanout", (*bench).fanOut},
	{"remade", (*bench).remade},
	{"unchanged", (*bench).unchanged},
	{"lazy", (*bench).lazy},
	{"restart", (*bench).restart},
	{"placement", (*bench).placements},
	{"size", (*bench).eventSize},
}

func phaseNames() []string {
	var names []string
	for _, p := range phases {
		names = append(names, p.name)
	}
	return names
}

// chosen are the phases to run. Without the samples that the first one takes,
// there is no floor.
func chosen(only string) ([]phase, error) {
	if only == "" {
		return phases, nil
	}
	want := strings.Split(only, ",")
	for _, name := range want {
		if !slices.Contains(phaseNames(), name) {
			return nil, fmt.Errorf("--only %s: there is no such phase; there are %s", name, strings.Join(phaseNames(), ", "))
		}
	}
	var some []phase
	for _, p := range phases {
		if slices.Contains(want, p.name) || p.name == "writes" {
			some = append(some, p)
		}
	}
	return some, nil
}

// bench is one run.
type bench struct {
	options
	lab      *lab
	pipeline *pipeline
	// bytes between the pipeline and the hub, and the members; where they are relayed.
	hubBytes, memberBytes, floorBytes atomic.Int64
	// targets is how many members templates go to, for those who watch.
	targets atomic.Int64
	track   *tracker
	table   table
	// models are what the floor replays, by kind.
	models map[string]*sample
	// held is how many templates have been propagated so far.
	held int
}

func run(ctx context.Context, o options) error {
	if o.ladder != "" {
		return climb(ctx, o)
	}
	some, err := chosen(o.only)
	if err != nil {
		return err
	}
	l, err := startLab(ctx, o)
	if err != nil {
		return err
	}
	defer l.end(context.WithoutCancel(ctx))
	b := &bench{options: o, lab: l, track: newTracker(), models: map[string]*sample{}}
	if err := l.joinAll(ctx); err != nil {
		return err
	}
	if b.pipeline, err = newPipeline(l, o); err != nil {
		return err
	}
	defer b.pipeline.end()
	if err := b.pipeline.start(ctx); err != nil {
		return err
	}
	if err := l.joined(ctx); err != nil {
		return err
	}
	watches, stop := context.WithCancel(ctx)
	defer stop()
	if err := b.follow(watches); err != nil {
		return err
	}
	for _, p := range some {
		say("%s …", p.name)
		if err = p.measure(b, ctx); err != nil {
			err = fmt.Errorf("%s: %w", p.name, err)
			break
		}
	}
	b.table.print(os.Stdout)
	return errors.Join(err, b.table.over())
}

// say tells on stderr what goes on; stdout is the table's.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
