// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"time"
)

// fault befalls one process.
type fault struct {
	who    string // pipeline, redis, or CLUSTER/COMPONENT
	kill   bool   // else it is stopped
	lasts  time.Duration
	before time.Duration // after the last one
}

func (f fault) String() string {
	how := "stopped"
	if f.kill {
		how = "killed"
	}
	return fmt.Sprintf("%s %s for %.1fs", f.who, how, f.lasts.Seconds())
}

// targets are all that may be harmed. The pipeline is the one that has to stand it.
func targets(members int) []string {
	all := []string{"pipeline", "pipeline", "pipeline", "redis", "redis", "hub/apiserver", "hub/etcd"}
	for i := range members {
		all = append(all, fmt.Sprintf("member%d/apiserver", i+1), fmt.Sprintf("member%d/etcd", i+1))
	}
	return all
}

// draw draws what happens together next: one fault, or two.
func draw(rng *rand.Rand, who []string) []fault {
	n := 1 + rng.IntN(3)/2
	var all []fault
	for len(all) < n {
		f := fault{
			who: who[rng.IntN(len(who))], kill: rng.IntN(3) > 0,
			lasts:  200*time.Millisecond + time.Duration(rng.Int64N(int64(6*time.Second))),
			before: 500*time.Millisecond + time.Duration(rng.Int64N(int64(5*time.Second))),
		}
		if len(all) == 0 || all[0].who != f.who {
			all = append(all, f)
		}
	}
	return all
}

func (w *world) signaller(who string) interface{ signal(syscall.Signal) error } {
	switch who {
	case "pipeline":
		return w.pipeline
	case "redis":
		return w.redis
	}
	return component{filepath.Join(w.dir, "lab", who+".pid")}
}

// harm has faults happen until over, and mends each of them.
func (w *world) harm(ctx, over context.Context) error {
	rng := rand.New(rand.NewPCG(w.seed, 1))
	for {
		faults := draw(rng, targets(w.members))
		if pause(over, faults[0].before) != nil {
			return ctx.Err()
		}
		var lasts time.Duration
		for _, f := range faults {
			say("%v", f)
			signal := syscall.SIGSTOP
			if f.kill {
				signal = syscall.SIGKILL
			}
			if err := w.signaller(f.who).signal(signal); err != nil {
				return fmt.Errorf("%v: %w", f, err)
			}
			lasts = max(lasts, f.lasts)
		}
		waited := pause(ctx, lasts)
		if err := errors.Join(w.mend(context.WithoutCancel(ctx), faults), waited); err != nil {
			return err
		}
	}
}

// mend has what was stopped go on, and what was killed start again.
func (w *world) mend(ctx context.Context, faults []fault) error {
	lab := false
	for _, f := range faults {
		var err error
		switch {
		case !f.kill:
			err = w.signaller(f.who).signal(syscall.SIGCONT)
		case f.who == "pipeline":
			err = w.pipeline.start()
		case f.who == "redis":
			err = w.redis.start()
		default:
			lab = true
		}
		if err != nil {
			return fmt.Errorf("mend %v: %w", f, err)
		}
	}
	if lab {
		return w.up(ctx)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
