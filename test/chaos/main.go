// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command chaos runs Sluice on real processes that are killed, stopped and started
// again under load, and checks what is left.
//
// It starts a lab, a Redis and the pipeline of its own. A seed draws what people do
// (templates, changes, deletions, placements) and what befalls the pipeline, Redis,
// the hub and the members: kill -9, or SIGSTOP for a while. Then all is well again,
// and has to come to what a small model says:
//   - each template is in each member that its policy names, as it was written last,
//     and in no other; its status is reported;
//   - no object was removed from a member for which nobody had asked: the members'
//     audit logs are checked against the model;
//   - nobody writes anything more.
//
// It ends only processes that it started, or that the lab which it started has in its
// pid files.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options of a run.
type options struct {
	bin      string
	dir      string
	members  int
	seed     uint64
	duration time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "_output/bin", "`folder` of kube, lab and standalone")
	flag.StringVar(&o.dir, "dir", "", "`folder` of the lab, which stays (default: a temporary one)")
	flag.IntVar(&o.members, "members", 2, "`number` of members")
	flag.Uint64Var(&o.seed, "seed", 0, "`seed` of what happens (default: a random one)")
	flag.DurationVar(&o.duration, "duration", time.Minute, "how long it goes on")
	flag.Parse()
	if o.seed == 0 {
		o.seed = rand.Uint64N(1_000_000) + 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	say("seed %d: again with -seed %d", o.seed, o.seed)
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "chaos: seed %d: %v\n", o.seed, err)
		stop()
		os.Exit(1)
	}
	say("seed %d: all is as it has to be", o.seed)
}

var began = time.Now()

func say(format string, args ...any) {
	fmt.Printf("chaos %5.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

func run(ctx context.Context, o options) (err error) {
	kept := o.dir != ""
	if !kept {
		if o.dir, err = os.MkdirTemp("", "sluice-chaos-"); err != nil {
			return err
		}
	}
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return err
	}
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	w := &world{options: o, port: 30000 + rand.IntN(2000)}
	defer func() {
		ended := w.end(context.WithoutCancel(ctx))
		if err == nil && ended == nil && !kept {
			ended = os.RemoveAll(o.dir)
		} else {
			say("what is left is in %s", o.dir)
		}
		err = errors.Join(err, ended)
	}()
	if err := w.start(ctx); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	l := newLoad(w)
	if err := l.prepare(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	over, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- l.run(ctx, over.Done()) }()
	harmed := w.harm(ctx, over)
	cancel() // whoever cannot harm any more does not wait for the end either
	if err := errors.Join(harmed, <-done); err != nil {
		return err
	}
	say("all runs again; %d templates were made, %d live", l.made, len(l.model.living))
	return w.check(ctx, l.model)
}
