// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// mostRemade is how many hub writes it may cost, for each of its templates, that a policy
// is deleted and made again: the claim is taken off template and binding, and put on both,
// and the binding's status says which of its generations it is of.
const mostRemade = 5

// remade counts what it costs that a policy is deleted which holds many templates, and
// made again: when all is quiet in between, and at once.
func (b *bench) remade(ctx context.Context) error {
	const kind, namespace = "ConfigMap", "remade"
	if err := b.policy(ctx, namespace, "all", nil); err != nil {
		return err
	}
	for some := range slices.Chunk(names("remade", b.templates), portion) {
		if _, err := b.propagate(ctx, kind, namespace, some); err != nil {
			return err
		}
	}
	if _, err := b.since(ctx); err != nil {
		return err
	}
	say("  %d templates are claimed", b.templates)
	if err := b.remake(ctx, namespace, "in the quiet", func() error { _, err := b.pipeline.quiet(ctx); return err }); err != nil {
		return err
	}
	return b.remake(ctx, namespace, "at once", func() error { return nil })
}

func (b *bench) remake(ctx context.Context, namespace, when string, between func() error) error {
	began := time.Now()
	if _, err := b.lab.hub.remove(ctx, policyPath(namespace, "all")); err != nil {
		return err
	}
	if err := between(); err != nil {
		return err
	}
	if err := b.policy(ctx, namespace, "all", nil); err != nil {
		return err
	}
	last, err := b.pipeline.quiet(ctx)
	if err != nil {
		return err
	}
	rs, err := b.lab.requests()
	if err != nil {
		return err
	}
	now, peak, err := b.pipeline.memory()
	if err != nil {
		return err
	}
	caused := rs.hub().writes().caused()
	each := float64(len(caused)) / float64(b.templates)
	kept := len(rs.member().writes()) == 0 && len(rs.of("works").writes()) == 0
	b.table.row(fmt.Sprintf("a policy of %d templates is deleted, and made again %s: no write in members or of Works, and at most %d hub writes a template", b.templates, when, mostRemade),
		verdict(kept && each <= mostRemade+0.1, "%d in members, %d of Works, %.2f a template, in %s; memory %d MB (at most %d MB)",
			len(rs.member().writes()), len(rs.of("works").writes()), each, seconds(last.Sub(began)), now, peak),
		"audit logs: "+rs.writes().by(byResource))
	return nil
}
