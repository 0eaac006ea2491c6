// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// mostBeside is how many times its quiet p99 a fresh template may take while many others
// are fanned out.
const mostBeside = 3

// beside is how many fresh templates are measured beside a fan-out, at most: it has to
// last longer than they take.
const beside = 40

// fanOut times templates that are made one after the other: first while nothing else
// happens, then while another namespace's policy takes its templates to one more member.
func (b *bench) fanOut(ctx context.Context) error {
	const kind, crowd, fresh = "ConfigMap", "crowd", "fresh"
	last := b.lab.members[len(b.lab.members)-1].name
	if err := b.policy(ctx, fresh, "all", nil); err != nil {
		return err
	}
	all, err := b.crowd(ctx, kind, crowd)
	if err != nil {
		return err
	}
	say("  %d templates are in all members but %s", len(all), last)
	quiet, err := b.freshOnes(ctx, kind, fresh, func() bool { return true })
	if err != nil {
		return err
	}
	say("  in the quiet: %s", quiet)
	arriving := make([]string, len(all))
	for i, name := range all {
		arriving[i] = inPlace(last, kind, name)
	}
	began := time.Now()
	if err := b.policy(ctx, crowd, "all", nil); err != nil {
		return err
	}
	if _, err := b.track.await(ctx, []string{slices.Min(arriving)}); err != nil {
		return err
	}
	amid, err := b.freshOnes(ctx, kind, fresh, func() bool { return b.track.missing(arriving) > 0 })
	if err != nil {
		return err
	}
	say("  beside the fan-out: %s", amid)
	left := b.track.missing(arriving)
	end, err := b.track.await(ctx, arriving)
	if err != nil {
		return err
	}
	ratio := float64(quantile(amid.placed, 0.99)) / float64(quantile(quiet.placed, 0.99))
	b.table.row(fmt.Sprintf("a fresh template while a policy takes %d others to one more member: p99 ≤ %d × its quiet p99", len(all), mostBeside),
		verdict(ratio <= mostBeside && len(amid.placed) >= b.samples, "%.1f ×: %s; quiet %s", ratio, amid, quiet),
		fmt.Sprintf("ConfigMaps, one after the other, until in the last member: %d in the quiet, %d beside the fan-out, of which %d templates were left then; it took %s",
			len(quiet.placed), len(amid.placed), left, seconds(end.Sub(began))))
	_, err = b.since(ctx)
	return err
}

// crowd has many templates in all members but the last.
func (b *bench) crowd(ctx context.Context, kind, namespace string) ([]string, error) {
	var clusters, want []string
	for _, m := range b.lab.members[:len(b.lab.members)-1] {
		clusters = append(clusters, m.name)
	}
	placement := map[string]any{"clusterAffinity": map[string]any{"clusterNames": clusters}}
	if err := b.policy(ctx, namespace, "all", map[string]any{"placement": placement}); err != nil {
		return nil, err
	}
	all := names("crowd", b.templates)
	for some := range slices.Chunk(all, portion) {
		if _, err := b.create(ctx, kind, namespace, some); err != nil {
			return nil, err
		}
		want = want[:0]
		for _, name := range some {
			for _, cluster := range clusters {
				want = append(want, inPlace(cluster, kind, name))
			}
		}
		if _, err := b.track.await(ctx, want); err != nil {
			return nil, err
		}
	}
	b.held += len(all)
	_, err := b.pipeline.quiet(ctx)
	return all, err
}

// fresh is how long templates took until they were in the last member, and reported.
type fresh struct{ placed, done []time.Duration }

func (f fresh) String() string {
	return fmt.Sprintf("p50 %s, p99 %s (reported: %s, %s)", ms(quantile(f.placed, 0.5)), ms(quantile(f.placed, 0.99)), ms(quantile(f.done, 0.5)), ms(quantile(f.done, 0.99)))
}

// freshOnes makes templates, one after the other, as long as it goes on.
func (b *bench) freshOnes(ctx context.Context, kind, namespace string, goesOn func() bool) (fresh, error) {
	var f fresh
	for _, name := range names("fresh", beside) {
		if !goesOn() {
			break
		}
		placed, done, err := b.single(ctx, kind, namespace, name)
		if err != nil {
			return f, err
		}
		f.placed, f.done = append(f.placed, placed), append(f.done, done)
	}
	return f, nil
}
