// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/pkg/core/propagation"
)

// cost is what a change has cost in all turns.
type cost struct {
	floor, pipeline []time.Duration
	floorCPU, cpu   spent
	requests        requests
}

// befall measures the changes, one after the other. In each turn they befall the floor's
// templates first, and then the pipeline's.
func (b *bench) befall(ctx context.Context) error {
	if b.members < 2 {
		return errors.New("there is no member that could be left: it takes two")
	}
	if err := b.lab.namespaces(ctx, floorNamespace); err != nil {
		return err
	}
	if err := b.policy(ctx, changeNamespace, "all", nil); err != nil {
		return err
	}
	costs := make([]cost, len(changes))
	for i := range costs {
		costs[i].floorCPU, costs[i].cpu = spent{}, spent{}
	}
	for range b.rounds {
		if err := b.turn(ctx, changeKind, sampleNamespace, func() error { return b.befallFloor(ctx, costs) }); err != nil {
			return err
		}
		if err := b.befallPipeline(ctx, costs); err != nil {
			return err
		}
	}
	for i := range changes {
		changes[i].tell(b, &costs[i])
	}
	return nil
}

// befallFloor has the floor do all changes once.
func (b *bench) befallFloor(ctx context.Context, costs []cost) error {
	all := b.writings(b.lab, changeKind, names("floor", b.burst), creators)
	_, err := together(ctx, all, func(ctx context.Context, _ int, w *writing) error {
		w.finalizer = propagation.FinalizerWork
		_, err := w.run(ctx, nil)
		return err
	})
	if err != nil {
		return err
	}
	for i, c := range changes {
		before := b.lab.spent()
		took, err := together(ctx, all, func(ctx context.Context, _ int, w *writing) error {
			c.floor(ctx, w)
			return w.err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		costs[i].floorCPU.add(b.lab.spent().since(before))
		costs[i].floor = append(costs[i].floor, took)
	}
	return b.sweepFloor(ctx, changeKind)
}

// befallPipeline has the pipeline see to all changes once. How long that took, until its
// last write, the audit logs tell.
func (b *bench) befallPipeline(ctx context.Context, costs []cost) error {
	names := names("changed", b.burst)
	if _, err := b.propagate(ctx, changeKind, changeNamespace, names); err != nil {
		return err
	}
	if _, err := b.since(ctx); err != nil {
		return err
	}
	for i, c := range changes {
		var rs requests
		before, own, began := b.lab.spent(), b.pipeline.cpu(), time.Now()
		err := b.profiled(ctx, "change-"+strings.ReplaceAll(c.name, " ", "-"), 5, func() (err error) {
			if err = c.people(b, ctx, names); err == nil {
				rs, err = b.since(ctx)
			}
			return err
		})
		for err == nil {
			wrong := b.inEffect(ctx, &c, names)
			if wrong == nil {
				break
			}
			say("  not yet: %v", wrong)
			var more requests
			if more, err = b.since(ctx); time.Since(began) > patience {
				err = wrong
			}
			rs = append(rs, more...)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		rs = rs.caused()
		cost := &costs[i]
		cost.cpu.add(b.lab.spent().since(before))
		cost.cpu.add(spent{"pipeline": b.pipeline.cpu() - own})
		cost.pipeline = append(cost.pipeline, rs.writes().last().Sub(began))
		cost.requests = append(cost.requests, rs...)
	}
	b.held -= len(names)
	return nil
}

// inEffect checks that each member has what it should after the change, and no more.
func (b *bench) inEffect(ctx context.Context, c *change, names []string) error {
	for i, m := range b.lab.members {
		raw, err := m.get(ctx, place(changeKind, changeNamespace))
		if err != nil {
			return err
		}
		var list struct {
			Items []struct {
				Metadata struct{ Name string }
				Data     struct{ Greeting string }
			}
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		has, want := 0, len(names)
		if i >= b.members-c.away(b.members) {
			want = 0
		}
		for _, o := range list.Items {
			if !slices.Contains(names, o.Metadata.Name) {
				continue
			}
			if has++; o.Data.Greeting != c.says {
				return fmt.Errorf("in %s, %s says %q and not %q", m.name, o.Metadata.Name, o.Data.Greeting, c.says)
			}
		}
		if has != want {
			return fmt.Errorf("%s has %d of them and not %d", m.name, has, want)
		}
	}
	return nil
}

// tell adds the rows of a change.
func (c *change) tell(b *bench, all *cost) {
	var floor, took time.Duration
	var ratios []string
	for i := range all.floor {
		floor, took = floor+all.floor[i], took+all.pipeline[i]
		ratios = append(ratios, fmt.Sprintf("%.2f", float64(all.pipeline[i])/float64(all.floor[i])))
	}
	ratio, turns, n := float64(took)/float64(floor), len(all.floor), len(all.floor)*b.burst
	what := fmt.Sprintf("%d %ss in %d members, %s", b.burst, changeKind, b.members, c.name)
	b.table.row(fmt.Sprintf("%s → all in place and reported: ≤ %.2f × floor", what, mostChanged),
		verdict(ratio <= mostChanged, "%.2f × floor: %s; floor %s", ratio, seconds(took/time.Duration(turns)), seconds(floor/time.Duration(turns))),
		fmt.Sprintf("mean of %d turns (ratios %s), until the pipeline's last write; the floor carries %d templates at a time; computing time of everybody, until quiet: %.2f × floor; in ms a template: %s; floor: %s",
			turns, strings.Join(ratios, ", "), creators, float64(all.cpu.total())/float64(all.floorCPU.total()), all.cpu.each(n), all.floorCPU.each(n)))
	writes, reads := all.requests.writes(), all.requests.that(func(r request) bool { return !r.write() })
	perWrites, perReads := float64(len(writes))/float64(n), float64(len(reads))/float64(n)
	maxWrites, maxReads := c.writes(b.members), c.reads(b.members)
	b.table.row(fmt.Sprintf("%s: ≤ %d writes and %d reads a template", what, maxWrites, maxReads),
		verdict(perWrites <= float64(maxWrites)+slack && perReads <= float64(maxReads)+slack, "%.2f and %.2f", perWrites, perReads),
		fmt.Sprintf("audit logs: hub: %s; members: %s", all.requests.hub().by(byResource), all.requests.member().by(byResource)))
}

// slack is for what a policy costs itself, and for a race that is lost now and then.
const slack = 0.1
