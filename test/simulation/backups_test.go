// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"testing"

	"sluice.dev/pkg/pipeline/sweeper"
	"sluice.dev/test/pipelinetest"
)

// What members lose, and get back, that go back to what they had.
const (
	keepMember    verb = "back up"
	restoreMember verb = "restore"
	keepHub       verb = "back up the hub"
	restoreHub    verb = "restore the hub"
)

// hubBackup is what the hub had, and what was known of that.
type hubBackup struct {
	kept   bool
	hub    pipelinetest.HubBackup
	moment moment
	acts   map[string]int
	claims map[string]int
}

// backup is what a member had, and what was known of that.
type backup struct {
	pipelinetest.Backup
	put map[place]*memberObject
}

// backups has a member go back.
func (d drawer) backups() []op {
	cluster := pick(d, clusters)
	run := func() op { return op{verb: deliver, n: 1 + d.IntN(80), seed: d.Uint64() | 1} }
	key := pick(d, templates)
	changes := []op{
		{verb: putTemplate, key: key, content: d.content()}, {verb: dropTemplate, key: key}, d.putPolicy(style{few: true}),
	}
	if d.chance(35) {
		before, change, since := run(), pick(d, changes), run()
		return []op{before, {verb: keepHub}, change, since, {verb: restoreHub, n: int(since.seed >> 1 & young)}}
	}
	return []op{run(), {verb: keepMember, cluster: cluster}, pick(d, changes), run(), {verb: restoreMember, cluster: cluster}}
}

// goBack does that; false: nothing was kept.
func (w *world) goBack(o op) bool {
	switch o.verb {
	case keepHub:
		w.hubBackup = hubBackup{true, w.hub.Keep(), w.past.at(w.past.last()), maps.Clone(w.safety.acts), maps.Clone(w.safety.claims)}
		return true
	case restoreHub:
		if w.hubBackup.kept {
			w.restoreHub(w.hubBackup, o.n == young)
		}
		return w.hubBackup.kept
	}
	m, p := w.members[o.cluster], &w.safety.proofs
	if o.verb == keepMember {
		w.backups[o.cluster] = backup{m.Keep(), maps.Clone(p.put)}
		return true
	}
	b, kept := w.backups[o.cluster]
	if !kept {
		return false
	}
	m.Restore(b.Backup)
	w.strand(o.cluster)
	for _, object := range m.Objects() {
		at := place{o.cluster, object.Ref.ID()}
		if s := b.put[at]; object.Work != "" && s != nil && p.put[at] == nil {
			p.put[at] = &memberObject{key: s.key, uid: s.uid, keeps: "it was just put there"}
		}
	}
	return true
}

// young is the backup that no sweep has seen the hub go beyond.
const young = 1

// restoreHub has the hub go back. Of what it had before the last sweep that is told by
// the version which the sweep saw; of a young backup by what Redis knows beyond it, if
// anything. Whatever was under way has ended then, everything begins anew, and the first
// that anybody does is to sweep. What members have beyond what the hub knows of stays
// there.
func (w *world) restoreHub(b hubBackup, young bool) {
	w.noRedis, w.refused = false, refusals{}
	if !young {
		w.tick()
		w.drain()
	}
	w.broker.clear()
	w.hub.Restore(b.hub)
	w.safety.acts, w.safety.claims = maps.Clone(b.acts), maps.Clone(b.claims)
	w.past.count++
	w.past.moments = []moment{b.moment}
	states := map[string]state{}
	for _, key := range w.past.ever {
		states[key.ID()] = w.state(key)
	}
	w.past.settle(w, states)
	w.past.lose()
	for _, c := range clusters {
		w.strand(c)
	}
	clear(w.safety.repels)
	w.restart()
	queued := w.broker.queue
	w.broker.queue = nil
	w.tick()
	w.broker.queue = append(w.broker.queue, queued...)
	w.safety.proofs.look(w)
	w.drain()
}

// The backup is younger than what any sweep has seen, and the last that happened before
// the hub goes back to it is that a policy was indexed and acted on. Redis outlives that.
func TestZ21ABackupThatNoSweepHasSeenBeyond(t *testing.T) {
	policy := namespaced("a")
	w := newLab(t).start(climate{keeps: true, flights: 1})
	for _, o := range []op{said(policy, "m1"), alone(1), {verb: rest}, {verb: keepHub}, said(policy, "m2")} {
		w.do(o)
	}
	w.tellAll()
	w.broker.queue = slices.DeleteFunc(w.broker.queue, func(d delivery) bool { return d.stage == sweeper.Name })
	w.drain()
	if w.members["m2"].Object(nginx) == nil {
		t.Fatal("nobody acted on the policy")
	}
	if err := w.run([]op{{verb: restoreHub, n: young}}); err != nil {
		t.Fatal(err)
	}
	if w.members["m1"].Object(nginx) == nil {
		t.Error("m1 does not have what the hub wants there")
	}
}
