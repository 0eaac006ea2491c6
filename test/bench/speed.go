// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// How many times the floor it may take until a new template, and a change of one that is
// there, has come about.
const (
	mostNew     = 1.25
	mostChanged = 1.5
)

// turn has the floor measured with the pipeline away, and then the pipeline
// back, warm and quiet.
func (b *bench) turn(ctx context.Context, kind, namespace string, floor func() error) error {
	if err := b.pipeline.kill(); err != nil {
		return err
	}
	if err := floor(); err != nil {
		return err
	}
	if err := b.pipeline.start(ctx); err != nil {
		return err
	}
	if _, err := b.propagate(ctx, kind, namespace, names("warm", 1)); err != nil {
		return err
	}
	_, err := b.pipeline.quiet(ctx)
	return err
}

// latency times one template after the other, from the answer to its creation
// until the last member has it.
func (b *bench) latency(ctx context.Context) error {
	const kind, namespace = "ConfigMap", "latency"
	if err := b.lab.namespaces(ctx, floorNamespace); err != nil {
		return err
	}
	if err := b.policy(ctx, namespace, "all", nil); err != nil {
		return err
	}
	if _, err := b.since(ctx); err != nil {
		return err
	}
	var floor, placed, done []time.Duration
	for range b.rounds {
		n := max(1, b.samples/b.rounds)
		err := b.turn(ctx, kind, namespace, func() error {
			_, each, err := b.floor(ctx, kind, names("floor", n), 1)
			floor = append(floor, each...)
			if err == nil {
				err = b.sweepFloor(ctx, kind)
			}
			return err
		})
		if err != nil {
			return err
		}
		err = b.profiled(ctx, "latency", 5, func() error {
			for _, name := range names("single", n) {
				p, d, err := b.single(ctx, kind, namespace, name)
				if err != nil {
					return err
				}
				placed, done = append(placed, p), append(done, d)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	ratio := float64(quantile(placed, 0.5)) / float64(quantile(floor, 0.5))
	b.table.row(fmt.Sprintf("template created → object in the last member: ≤ %.2f × floor", mostNew),
		verdict(ratio <= mostNew, "%.2f × floor: p50 %s, p99 %s; floor p50 %s, p99 %s", ratio,
			ms(quantile(placed, 0.5)), ms(quantile(placed, 0.99)), ms(quantile(floor, 0.5)), ms(quantile(floor, 0.99))),
		fmt.Sprintf("%d ConfigMaps, one after the other, %d members; the floor is all of its requests in a row (%d hub writes, %d applies); until its status is back: p50 %s, p99 %s",
			len(placed), b.members, 5+2*b.members, b.members, ms(quantile(done, 0.5)), ms(quantile(done, 0.99))))
	return nil
}

func (b *bench) single(ctx context.Context, kind, namespace, name string) (placed, done time.Duration, err error) {
	if _, err := b.create(ctx, kind, namespace, []string{name}); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	b.held++
	var members []string
	for _, m := range b.lab.members {
		members = append(members, inPlace(m.name, kind, name))
	}
	last, err := b.track.await(ctx, members)
	if err != nil {
		return 0, 0, err
	}
	end, err := b.track.await(ctx, b.propagated(kind, name))
	return last.Sub(began), end.Sub(began), err
}

// bursts times many templates that are created at once.
func (b *bench) bursts(ctx context.Context) error {
	if err := b.lab.namespaces(ctx, floorNamespace); err != nil {
		return err
	}
	for _, kind := range kinds {
		if err := b.burstOf(ctx, kind); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

// burst is what all turns of a kind have taken: time, and computing time of
// everybody who has a part in it.
type burst struct {
	floor, pipeline       time.Duration
	floorCPU, pipelineCPU spent
	ratios                []string
	requests              requests
}

func (b *bench) burstOf(ctx context.Context, kind string) error {
	const namespace = "burst"
	if err := b.policy(ctx, namespace, "all", nil); err != nil {
		return err
	}
	all := burst{floorCPU: spent{}, pipelineCPU: spent{}}
	for range b.rounds {
		if err := b.burstTurn(ctx, kind, namespace, &all); err != nil {
			return err
		}
	}
	ratio := float64(all.pipeline) / float64(all.floor)
	n, each := time.Duration(b.rounds), b.rounds*b.burst
	b.table.row(fmt.Sprintf("%d %ss created at once → all in place and reported: ≤ %.2f × floor", b.burst, kind, mostNew),
		verdict(ratio <= mostNew, "%.2f × floor: %s; floor %s", ratio, seconds(all.pipeline/n), seconds(all.floor/n)),
		fmt.Sprintf("mean of %d turns (ratios %s); the floor carries %d templates at a time; computing time of everybody: %.2f × floor; in ms a template: %s; floor: %s",
			b.rounds, strings.Join(all.ratios, ", "), creators, float64(all.pipelineCPU.total())/float64(all.floorCPU.total()), all.pipelineCPU.each(each), all.floorCPU.each(each)))
	b.verbs(fmt.Sprintf("%d new %ss at once, %d times", b.burst, kind, b.rounds), all.requests)
	return nil
}

// burstTurn has the floor and the pipeline do the same once.
func (b *bench) burstTurn(ctx context.Context, kind, namespace string, all *burst) error {
	var floor, took time.Duration
	err := b.turn(ctx, kind, namespace, func() (err error) {
		before := b.lab.spent()
		floor, _, err = b.floor(ctx, kind, names("floor", b.burst), creators)
		all.floorCPU.add(b.lab.spent().since(before))
		if err == nil {
			err = b.sweepFloor(ctx, kind)
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := b.since(ctx); err != nil {
		return err
	}
	before, own := b.lab.spent(), b.pipeline.cpu()
	err = b.profiled(ctx, "burst-"+kind, 1+int(1.2*floor.Seconds()), func() (err error) {
		took, err = b.propagate(ctx, kind, namespace, names("burst", b.burst))
		return err
	})
	if err != nil {
		return err
	}
	all.pipelineCPU.add(b.lab.spent().since(before))
	all.pipelineCPU.add(spent{"pipeline": b.pipeline.cpu() - own})
	rs, err := b.since(ctx)
	if err != nil {
		return err
	}
	all.requests = append(all.requests, rs...)
	all.floor, all.pipeline = all.floor+floor, all.pipeline+took
	all.ratios = append(all.ratios, fmt.Sprintf("%.2f", float64(took)/float64(floor)))
	return nil
}
