// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// rung is a step of a ladder: so many templates that have been propagated to so many
// members, all of which there are.
type rung struct{ members, templates int }

// ladder is climbed on a lab of its own, for what is there of the rungs before stays.
type ladder struct {
	name  string
	what  string // changes from rung to rung
	rungs []rung
	// restart is the number of templates at which a restart is measured.
	restart int
}

// ladders by the names of which they can be chosen.
var ladders = map[string][]ladder{
	"short":     {{"short", "", []rung{{3, 100}, {20, 100}}, 0}},
	"templates": {byTemplates},
	"members":   {byMembers},
	"full":      {byTemplates, byMembers},
	"small": {
		{"templates", "templates", []rung{{3, 100}, {3, 300}, {3, 1000}}, 0},
		{"members", "members", []rung{{3, 10}, {10, 10}, {32, 10}, {100, 10}}, 0},
	},
}

var (
	byTemplates = ladder{"templates", "templates", []rung{{3, 100}, {3, 1000}, {3, 3000}, {3, 5000}, {3, 10000}}, 5000}
	byMembers   = ladder{"members", "members", []rung{{3, 100}, {10, 100}, {32, 100}, {100, 100}, {100, 1000}}, 0}
)

// resting is how long nothing is done to see what it costs.
const resting = 10 * time.Second

// portion is how many templates are created and waited for at a time.
const portion = 200

// floors is how many templates the floor makes.
const floors = 5

// climb measures on each rung of the ladders, and checks their budgets.
func climb(ctx context.Context, o options) error {
	chosen, ok := ladders[o.ladder]
	if !ok {
		return fmt.Errorf("-ladder %s: there is no such ladder", o.ladder)
	}
	var all table
	report := report{}
	for _, l := range chosen {
		steps, t, err := l.climb(ctx, o)
		all.rows = append(all.rows, t.rows...)
		if err != nil {
			all.print(os.Stdout)
			return fmt.Errorf("ladder %s: %w", l.name, err)
		}
		report.ladders = append(report.ladders, climbed{l, steps})
	}
	report.budgets = all
	report.print(os.Stdout)
	err := all.over()
	if o.docs != "" {
		err = errors.Join(err, report.write(o.docs))
	}
	return err
}

// climb is the way from the first rung to the last.
func (l ladder) climb(ctx context.Context, o options) ([]step, *table, error) {
	none := &table{}
	top := slices.MaxFunc(l.rungs, func(a, b rung) int { return a.members - b.members })
	o.members, o.simulated = top.members, true
	lab, err := startLab(ctx, o)
	if err != nil {
		return nil, none, err
	}
	defer lab.end(context.WithoutCancel(ctx))
	b := &bench{options: o, lab: lab, track: newTracker(), models: map[string]*sample{}}
	c := &climber{bench: b, waiting: lab.members}
	lab.members = nil
	if err := c.relays(); err != nil {
		return nil, none, err
	}
	defer c.close()
	if b.pipeline, err = newPipeline(lab, o); err != nil {
		return nil, none, err
	}
	defer b.pipeline.end()
	if err := b.pipeline.start(ctx); err != nil {
		return nil, none, err
	}
	watches, stop := context.WithCancel(ctx)
	defer stop()
	if err := b.follow(watches); err != nil {
		return nil, none, err
	}
	var steps []step
	for i, r := range l.rungs {
		say("ladder %s: %d templates in %d members …", l.name, r.templates, r.members)
		s, err := c.rung(ctx, watches, i, r)
		if err != nil {
			return steps, &b.table, err
		}
		steps = append(steps, s)
		s.check(&b.table)
		if r.templates == l.restart {
			if err := b.startAgain(ctx); err != nil {
				return steps, &b.table, err
			}
		}
	}
	flat(&b.table, steps)
	return steps, &b.table, nil
}

// climber is a bench that goes from rung to rung.
type climber struct {
	*bench
	waiting []*cluster // to join
	open    []*relay
	floor   *cluster // the hub, as the floor reaches it: with nobody's watches
	held    int      // templates in as many members as there are now
}

// relays has the pipeline reach the hub and the members by way of relays.
func (c *climber) relays() error {
	dir := c.lab.dir
	for _, m := range append([]*cluster{c.lab.hub}, c.waiting...) {
		count := &c.memberBytes
		if m == c.lab.hub {
			count = &c.hubBytes
		}
		r, err := newRelay(m.kubeconfig, dir, m.name, count)
		if err != nil {
			return fmt.Errorf("relay to %s: %w", m.name, err)
		}
		c.open, m.relayed = append(c.open, r), r.kubeconfig
	}
	r, err := newRelay(c.lab.hub.kubeconfig, dir, "floor", &c.floorBytes)
	if err != nil {
		return fmt.Errorf("relay to the hub: %w", err)
	}
	c.open = append(c.open, r)
	c.floor, err = dial("hub", r.kubeconfig)
	return err
}

func (c *climber) close() {
	for _, r := range c.open {
		_ = r.close() // the run is over
	}
}

// rung goes up to a rung and measures there.
func (c *climber) rung(ctx, watches context.Context, n int, r rung) (step, error) {
	s := step{rung: r}
	if err := c.grow(ctx, watches, r.members); err != nil {
		return s, err
	}
	namespace := fmt.Sprintf("rung-%d", n)
	if err := c.policy(ctx, namespace, "all", nil); err != nil {
		return s, err
	}
	if err := c.model(ctx); err != nil {
		return s, fmt.Errorf("take the sample: %w", err)
	}
	if err := c.fill(ctx, namespace, &s); err != nil {
		return s, err
	}
	if err := c.rest(ctx, &s); err != nil {
		return s, err
	}
	if err := c.probe(ctx, namespace, &s); err != nil {
		return s, err
	}
	return s, c.measureFloor(ctx, &s)
}

// grow has members join until there are so many.
func (c *climber) grow(ctx, watches context.Context, members int) error {
	more := members - len(c.lab.members)
	if more == 0 {
		return nil
	}
	joining := c.waiting[:more]
	c.waiting, c.held = c.waiting[more:], 0
	c.lab.members = append(c.lab.members, joining...)
	c.bench.members = members
	c.targets.Store(int64(members))
	for _, m := range joining {
		if err := c.lab.join(ctx, m); err != nil {
			return fmt.Errorf("join %s: %w", m.name, err)
		}
		if err := c.followMember(watches, m); err != nil {
			return err
		}
	}
	return c.lab.joined(ctx)
}

// model has the sample in all members, and takes it for the floor.
func (c *climber) model(ctx context.Context) error {
	const kind = "ConfigMap"
	if err := c.policy(ctx, sampleNamespace, "all", nil); err != nil {
		return err
	}
	if len(c.models) == 0 {
		if _, err := c.create(ctx, kind, sampleNamespace, []string{sampleName}); err != nil {
			return err
		}
		c.bench.held++
	}
	var everywhere []string
	for _, m := range c.lab.members {
		everywhere = append(everywhere, inPlace(m.name, kind, sampleName))
	}
	if _, err := c.track.await(ctx, everywhere); err != nil {
		return err
	}
	if _, err := c.since(ctx); err != nil {
		return err
	}
	var err error
	c.models[kind], err = c.take(ctx, kind)
	return errors.Join(err, c.lab.namespaces(ctx, floorNamespace))
}

// fill has as many templates as the rung wants, and counts what they cost that are
// made at once.
func (c *climber) fill(ctx context.Context, namespace string, s *step) error {
	if _, err := c.since(ctx); err != nil {
		return err
	}
	began, cpu, n := time.Now(), c.pipeline.cpu(), s.templates-c.held
	for left := n; left > 0; left -= portion {
		if _, err := c.propagate(ctx, "ConfigMap", namespace, names("held", min(left, portion))); err != nil {
			return err
		}
	}
	took := time.Since(began)
	rs, err := c.since(ctx)
	if err != nil {
		return err
	}
	c.held = s.templates
	s.filled, s.fillCPU, s.fillTook = n, c.pipeline.cpu()-cpu, took
	s.fillWrites = len(rs.hub().writes())
	return nil
}

// rest counts what is done when there is nothing to do. How many templates a policy
// holds is written some seconds after the last of them came: that is waited for.
func (c *climber) rest(ctx context.Context, s *step) error {
	for range 3 {
		late, err := c.restOnce(ctx, s)
		if err != nil || !late {
			return err
		}
	}
	return nil
}

// restOnce tells whether a count came late.
func (c *climber) restOnce(ctx context.Context, s *step) (late bool, err error) {
	cpu, bytes, began := c.pipeline.cpu(), c.hubBytes.Load(), time.Now()
	if err := pause(ctx, resting); err != nil {
		return false, err
	}
	rs, err := c.lab.requests()
	if err != nil {
		return false, err
	}
	took := time.Since(began).Seconds()
	s.restWrites = len(rs.writes())
	s.restWhat = rs.by(byResource)
	s.restRequests = float64(len(rs)) / took
	s.restBytes = float64(c.hubBytes.Load()-bytes) / took
	s.restCPU = float64((c.pipeline.cpu() - cpu).Milliseconds()) / took
	s.memory, s.peak, err = c.pipeline.memory()
	s.held = c.bench.held
	return len(rs.that(request.count)) > 0, err
}

// probe counts what new templates cost, one after the other. What the pipeline does
// at rest is taken off the counts of what it reads.
func (c *climber) probe(ctx context.Context, namespace string, s *step) error {
	before, err := c.pipeline.work(ctx)
	if err != nil {
		return err
	}
	hub, members, began := c.hubBytes.Load(), c.memberBytes.Load(), time.Now()
	n := c.samples
	var placed []time.Duration
	for _, name := range names("probe", n) {
		p, _, err := c.single(ctx, "ConfigMap", namespace, name)
		if err != nil {
			return err
		}
		placed = append(placed, p)
	}
	rs, err := c.since(ctx)
	if err != nil {
		return err
	}
	after, err := c.pipeline.work(ctx)
	if err != nil {
		return err
	}
	took, each := time.Since(began).Seconds(), 1/float64(n)
	s.samples = n
	s.writes = float64(len(rs.hub().writes().that(func(r request) bool { return !r.count() }))) * each
	s.requests = max(0, float64(len(rs))-s.restRequests*took) * each
	s.hubKB = max(0, float64(c.hubBytes.Load()-hub)-s.restBytes*took) * each / 1024
	s.memberKB = float64(c.memberBytes.Load()-members) * each / 1024
	s.events = float64(after.handled-before.handled) * each
	s.p50, s.p99 = quantile(placed, 0.5), quantile(placed, 0.99)
	return nil
}

// measureFloor makes the same requests with nothing in between, while the pipeline is
// away.
func (c *climber) measureFloor(ctx context.Context, s *step) error {
	if err := c.pipeline.kill(); err != nil {
		return err
	}
	via := *c.lab
	via.hub = c.floor
	before := c.floorBytes.Load()
	_, each, err := c.floorOn(ctx, &via, "ConfigMap", names("floor", floors), 1)
	if err != nil {
		return err
	}
	s.floorKB = float64(c.floorBytes.Load()-before) / floors / 1024
	s.floor = quantile(each, 0.5)
	s.floorWrites = float64(5 + 2*s.members)
	s.floorRequests = s.floorWrites + float64(s.members)
	if err := c.sweepFloor(ctx, "ConfigMap"); err != nil {
		return err
	}
	if err := c.pipeline.start(ctx); err != nil {
		return err
	}
	if _, err := c.since(ctx); err != nil {
		return err
	}
	return c.alive(ctx)
}

// file is where the curves of a ladder are.
func (l ladder) file(docs string) string { return filepath.Join(docs, "performance-"+l.name+".svg") }
