// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// since waits until the pipeline is quiet, and is what it has asked for since
// the last count.
func (b *bench) since(ctx context.Context) (requests, error) {
	if _, err := b.pipeline.quiet(ctx); err != nil {
		return nil, err
	}
	return b.lab.requests()
}

// verbs adds the row of a phase: what was asked for, by verb.
func (b *bench) verbs(phase string, rs requests) {
	b.table.row("requests: "+phase, fmt.Sprintf("hub: %s; members: %s", rs.hub().by(byVerb), rs.member().by(byVerb)),
		"hub: "+rs.hub().by(byResource)+"; members: "+rs.member().by(byResource))
}

// writes counts what a new template costs, and takes the samples for the floor.
func (b *bench) writes(ctx context.Context) error {
	if err := b.policy(ctx, sampleNamespace, "all", nil); err != nil {
		return err
	}
	for _, kind := range kinds { // the first of a kind has its watches started
		if _, err := b.propagate(ctx, kind, sampleNamespace, names("first", 1)); err != nil {
			return err
		}
	}
	if _, err := b.since(ctx); err != nil {
		return err
	}
	const n = 5
	for _, kind := range kinds {
		counted := names("counted", n-1)
		for _, name := range append(counted, sampleName) {
			if _, err := b.propagate(ctx, kind, sampleNamespace, []string{name}); err != nil {
				return err
			}
		}
		rs, err := b.since(ctx)
		if err != nil {
			return err
		}
		budget := 6 + 2*b.members
		all := rs.hub().writes()
		hub := all.that(func(r request) bool { return !r.count() })
		per := float64(len(hub)) / n
		b.table.row(fmt.Sprintf("hub writes for a new %s until its status is back: 6 + 2N = %d", kind, budget),
			verdict(per <= float64(budget), "%.1f (%d Events)", per, len(rs.events())),
			fmt.Sprintf("audit log of %d templates, one after the other: %s; members: %s; not a template's: the policy's counts, once in some seconds (%d here)",
				n, hub.by(byResource), rs.member().by(byResource), len(all)-len(hub)))
		b.verbs(fmt.Sprintf("%d new %ss, one after the other", n, kind), rs)
		if b.models[kind], err = b.take(ctx, kind); err != nil {
			return fmt.Errorf("take the sample: %w", err)
		}
	}
	return nil
}

// unchanged counts what is written when nothing has changed.
func (b *bench) unchanged(ctx context.Context) error {
	if _, err := b.since(ctx); err != nil {
		return err
	}
	if err := b.pipeline.kill(); err != nil {
		return err
	}
	if err := b.pipeline.start(ctx); err != nil {
		return err
	}
	rs, err := b.since(ctx)
	if err != nil {
		return err
	}
	b.nothing("kill -9 and start", rs)
	if err := b.pipeline.flush(ctx); err != nil {
		return err
	}
	if rs, err = b.since(ctx); err != nil {
		return err
	}
	b.nothing("FLUSHALL and sweep", rs)
	return nil
}

func (b *bench) nothing(after string, rs requests) {
	w := rs.writes()
	b.table.row("hub and member writes when nothing changed, "+after+": 0",
		verdict(len(w) == 0, "%d", len(w)),
		fmt.Sprintf("audit logs, %d templates in %d members: %s", b.held, b.members, w.by(byResource)))
	b.verbs(after, rs)
}

// bystanders is how many templates do not concern a policy event.
const bystanders = 1000

// policyEvents counts what a policy costs that concerns no template.
func (b *bench) policyEvents(ctx context.Context) error {
	const namespace = "bystanders"
	if err := b.lab.namespaces(ctx, namespace); err != nil {
		return err
	}
	var counted [2]requests
	var took [2]time.Duration
	for i, n := range []int{0, bystanders} {
		if _, err := b.create(ctx, "ConfigMap", namespace, names("bystander", n)); err != nil {
			return err
		}
		if _, err := b.since(ctx); err != nil {
			return err
		}
		began := time.Now()
		if err := b.nobodys(ctx, namespace, fmt.Sprintf("p%d", n)); err != nil {
			return err
		}
		last, err := b.pipeline.quiet(ctx)
		if err != nil {
			return err
		}
		all, err := b.lab.requests()
		if err != nil {
			return err
		}
		counted[i] = all.that(func(r request) bool { return !r.background() })
		took[i] = last.Sub(began)
	}
	b.table.row("requests for a policy event that touches no template: constant",
		verdict(len(counted[0]) == len(counted[1]), "%d with 0 templates, %d with %d", len(counted[0]), len(counted[1]), bystanders),
		fmt.Sprintf("audit logs, a policy that selects ConfigMaps of its namespace by a label that none has: %s; %s (handled after %s, %s); not counted: what a sweep and the look at the members ask now and then",
			counted[0].by(byResource), counted[1].by(byResource), ms(took[0]), ms(took[1])))
	return nil
}

func (b *bench) nobodys(ctx context.Context, namespace, name string) error {
	_, err := b.lab.hub.apply(ctx, policyPath(namespace, name), encoded(map[string]any{
		"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "labelSelector": map[string]any{"matchLabels": map[string]any{"nobody": "has"}}}},
			"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []string{b.lab.members[0].name}}},
		},
	}))
	return err
}

const (
	lazyNamespace = "lazy"
	lazyTemplates = 1000
)

// lazy counts what one change of a Lazy policy costs.
func (b *bench) lazy(ctx context.Context) error {
	n := min(lazyTemplates, b.templates)
	if err := b.policy(ctx, lazyNamespace, "lazy", map[string]any{"activationPreference": "Lazy"}); err != nil {
		return err
	}
	took, err := b.propagate(ctx, "ConfigMap", lazyNamespace, names("lazy", n))
	if err != nil {
		return err
	}
	rs, err := b.since(ctx)
	if err != nil {
		return err
	}
	b.verbs(fmt.Sprintf("%d new ConfigMaps of a Lazy policy at once (%s)", n, seconds(took)), rs)
	began := time.Now()
	_, err = b.lab.hub.merge(ctx, policyPath(lazyNamespace, "lazy"), encoded(map[string]any{
		"spec": map[string]any{"placement": map[string]any{"clusterAffinity": map[string]any{"clusterNames": []string{b.lab.members[0].name}}}},
	}))
	if err != nil {
		return err
	}
	last, err := b.pipeline.quiet(ctx)
	if err != nil {
		return err
	}
	if rs, err = b.lab.requests(); err != nil {
		return err
	}
	works, hub := rs.of("works").writes(), rs.hub().writes()
	limit := n + n/10
	b.table.row(fmt.Sprintf("one update of a policy that holds %d Lazy templates: 0 Work writes, < %d hub writes", n, limit),
		verdict(len(works) == 0 && len(hub) < limit, "%d Work writes, %d hub writes, %d Events, %s", len(works), len(hub), len(rs.events()), seconds(last.Sub(began))),
		"audit log: "+rs.hub().by(byResource)+"; members: "+rs.member().by(byResource))
	return nil
}

// restart times a start on many templates.
func (b *bench) restart(ctx context.Context) error {
	if more := b.templates - b.held; more > 0 {
		if err := b.policy(ctx, "many", "all", nil); err != nil {
			return err
		}
		took, err := b.propagate(ctx, "ConfigMap", "many", names("many", more))
		if err != nil {
			return err
		}
		say("  %d more templates in %s", more, seconds(took))
	}
	return b.startAgain(ctx)
}

// mostMemory is what a start on 5,000 templates may take at most, in MB.
const mostMemory = 400

// startAgain times a start on what is there.
func (b *bench) startAgain(ctx context.Context) error {
	if _, err := b.since(ctx); err != nil {
		return err
	}
	if err := b.pipeline.kill(); err != nil {
		return err
	}
	began := time.Now()
	if err := b.pipeline.start(ctx); err != nil {
		return err
	}
	ready := time.Since(began)
	var last time.Time
	if err := b.profiled(ctx, "restart", 30, func() (err error) {
		last, err = b.pipeline.quiet(ctx)
		return err
	}); err != nil {
		return err
	}
	cpu := b.pipeline.cpu()
	now, peak, err := b.pipeline.memory()
	if err != nil {
		return err
	}
	rs, err := b.lab.requests()
	if err != nil {
		return err
	}
	took, works := last.Sub(began), rs.of("works").writes()
	b.table.row(fmt.Sprintf("restart with 5,000 templates until quiet: ≤ 60 s, 0 Work writes, ≤ %d MB", mostMemory),
		verdict(took <= time.Minute && len(works) == 0 && peak <= mostMemory, "%s, %d Work writes, %d MB (at most %d MB), with %d templates", seconds(took), len(works), now, peak, b.held),
		fmt.Sprintf("kill -9 and start; ready after %s, CPU %s; quiet: nothing handled from then on; all writes: %s; resident memory as the kernel counts it", seconds(ready), seconds(cpu), rs.writes().by(byResource)))
	b.verbs(fmt.Sprintf("restart with %d templates", b.held), rs)
	return b.alive(ctx)
}

// alive checks that the pipeline still does its work: a measurement of one that
// does nothing is worth nothing.
func (b *bench) alive(ctx context.Context) error {
	_, err := b.propagate(ctx, "ConfigMap", sampleNamespace, names("alive", 1))
	return err
}
