// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest"
)

// checkExplained checks that what `explain` says of a template at rest is what
// the stages made of it: who holds it, what is in force and whether anything
// waits, and what each member has.
func (w *world) checkExplained(key propagation.TemplateKey, s state, pending bool) {
	seen := explaining.World{Policies: w.resolved(), Clusters: w.fleet(), Features: w.hub.LiveFeatures()}
	b := w.bindingOf(key)
	sub := explaining.Subject{Template: w.gears.known(w.hub.Live(key), b), Binding: b}
	if b != nil {
		sub.Revision = w.revision(b)
		sub.Works = w.worksOf(b)
	}
	r := seen.Explain(sub)
	holder := ""
	if r.Claim.Policy != nil {
		holder = r.Claim.Policy.ID()
	}
	if holder != s.policy || !r.Claim.Settled {
		w.fail("explain says that %q holds %s, settled: %t; it is %s", holder, key, r.Claim.Settled, s.describe(w))
	}
	if waits := r.Pending != nil; waits != pending {
		w.fail("explain says of %s that something waits: %t (%s); it is %s", key, waits, r.Gate.Reason, s.describe(w))
	}
	if r.Gate.Verdict.Verdict == string(gating.Open) && r.Gate.Reason != string(gating.UpToDate) {
		w.fail("explain says of %s, which is at rest, that %s is about to act", key, r.Gate.Reason)
	}
	acted := ""
	if r.InForce != nil {
		acted = r.InForce.Hash
	}
	if w.safety.contents.of(acted) != s.acted {
		w.fail("explain says that content %q of %s is in force; it is %s", acted, key, s.describe(w))
	}
	w.checkClustersExplained(r, sub)
}

// checkClustersExplained compares what is said of each cluster with the member.
func (w *world) checkClustersExplained(r explaining.Report, sub explaining.Subject) {
	if sub.Binding == nil {
		if len(r.Clusters) > 0 {
			w.fail("explain says that %s is in %v; it has no binding", r.Template, r.Clusters)
		}
		return
	}
	targets := w.goesTo(sub.Binding)
	for _, name := range clusters {
		i := slices.IndexFunc(r.Clusters, func(c explaining.Cluster) bool { return c.Name == name })
		j := slices.IndexFunc(sub.Works, func(work *propagation.Work) bool { return work.Key.Cluster == name })
		if (i >= 0) != (j >= 0 || slices.Contains(targets, name)) {
			w.fail("explain says of %s that it goes to %s: %t", r.Template, name, i >= 0)
			continue
		}
		if i < 0 {
			continue
		}
		is := r.Clusters[i].State
		target := slices.Contains(targets, name)
		allowed := []explaining.State{explaining.Rendering}
		if j >= 0 {
			allowed = w.statesIn(sub.Works[j], target)
		}
		if target && w.keptNoMore(sub.Binding) && (j < 0 || w.outdated(sub.Works[j], sub.Binding)) {
			allowed = []explaining.State{explaining.NotRendered}
		}
		if !slices.Contains(allowed, is) {
			w.fail("explain says of %s in %s: %s; it is one of %v", r.Template, name, is, allowed)
		}
	}
}

// statesIn are the states that a Work at rest may be in, told from the member. Of
// what is suspended, nobody looks at the member: it may have what is in force.
func (w *world) statesIn(work *propagation.Work, target bool) []explaining.State {
	o := w.members[work.Key.Cluster].Object(templateOf(work))
	switch {
	case work.Suspended() && target:
		return []explaining.State{explaining.Held, explaining.Applied, explaining.Leaving}
	case work.Suspended():
		return []explaining.State{explaining.Held, explaining.Leaving}
	case !target || work.Deleting:
		return []explaining.State{explaining.Leaving}
	case o != nil && o.Work == "":
		return []explaining.State{explaining.Failed}
	case o != nil && normal(o.Content) == normal(pipelinetest.Manifest(work)):
		return []explaining.State{explaining.Applied}
	}
	return []explaining.State{explaining.Applying}
}

// outdated tells whether a Work that is not held back, nor leaving, carries something
// else than what is in force.
func (w *world) outdated(work *propagation.Work, b *propagation.Binding) bool {
	return !work.Suspended() && !work.Deleting && normal(pipelinetest.Manifest(work)) != w.safety.contents.byHash[b.ActedHash()].normal
}

// fleet is the clusters that joined.
func (w *world) fleet() []*clusterv1alpha1.Cluster {
	all, err := w.hub.Clusters(w.ctx)
	if err != nil {
		w.fail("list clusters: %v", err)
	}
	return all
}
