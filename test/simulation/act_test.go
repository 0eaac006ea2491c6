// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"sluice.dev/pkg/core/propagation"
)

// run takes a world through a history and to rest, and checks it then.
func (w *world) run(history []op) error {
	for _, o := range history {
		if w.err != nil {
			break
		}
		w.trace("%s", o)
		w.pass(o.after)
		w.do(o)
	}
	if w.err == nil {
		w.rest()
	}
	if w.err == nil {
		w.final()
	}
	w.broker.clear()
	return w.err
}

func (w *world) do(o op) {
	switch o.verb {
	case deliver:
		w.deliver(o)
	case tick:
		w.tick()
	case redeliver:
		w.redeliver()
	case twoSweeps:
		w.sweepTwice(o)
	case rest:
		w.rest()
	case restart:
		w.restart()
	case flush:
		w.loseRedis()
	case redisDown:
		w.noRedis = true
	case redisUp:
		w.noRedis = false
	case memberDown, memberUp:
		w.members[o.cluster].Down = o.verb == memberDown
	case update, twinWork:
		w.byNames(o)
		w.safety.proofs.look(w)
	default:
		if w.people(o) {
			w.past.note(w, o)
			w.placing.moved = true
			if w.shared {
				w.noteShared()
			}
		}
		w.safety.proofs.look(w)
	}
}

func (w *world) deliver(o op) {
	if o.seed == 0 {
		w.drain()
		return
	}
	dice := rand.New(rand.NewPCG(o.seed, 1))
	for range o.n {
		if w.err != nil {
			return
		}
		w.step(dice)
	}
}

// people do what they do, and tell whether it changed anything on the hub.
func (w *world) people(o op) bool {
	if w.outOfReach(o) {
		return false
	}
	switch o.verb {
	case putTemplate:
		return w.hub.Apply(o.key, func(obj map[string]any) { o.content.write(obj) })
	case replaceTemplate:
		return w.hub.Live(o.key) != nil && w.hub.Apply(o.key, func(obj map[string]any) { o.content.write(obj); cleanse(obj) })
	case dropTemplate:
		return w.hub.Delete(o.key)
	case putPolicy:
		return w.hub.PutPolicy(o.policy, o.spec)
	case dropPolicy:
		return w.hub.DropPolicy(o.policy)
	case switchGates:
		changed := w.hub.LiveFeatures() != o.gates
		w.hub.SetFeatures(o.gates)
		return changed
	case joinCluster:
		return w.hub.Join(o.cluster)
	case spoilObject:
		return w.members[o.cluster].Spoil(o.key)
	case loseObject:
		return w.members[o.cluster].Lose(o.key)
	case plantObject:
		return w.members[o.cluster].Plant(o.key, w.foreign(o))
	case forgeContent, loseContent:
		w.meddle(o)
		return false // nobody asked for anything
	}
	for _, does := range []func(op) (bool, bool){w.byHand, w.more, w.place, w.reversion} {
		if changed, known := does(o); known {
			return changed
		}
	}
	return w.tamper(o)
}

// tamper writes what is not content.
func (w *world) tamper(o op) bool {
	edits := map[verb]func(obj, meta map[string]any){
		markTemplate:   func(_, meta map[string]any) { set(meta, "labels", "example.karmada.io/mark", fmt.Sprint(o.n)) },
		reportTemplate: func(obj, _ map[string]any) { obj["status"] = map[string]any{"people": int64(o.n)} },
		unclaimTemplate: func(_, meta map[string]any) {
			unset(meta, "labels", propagation.ClaimLabelNamespaced)
			unset(meta, "labels", propagation.ClaimLabelCluster)
		},
		forgeTemplate:   func(_, meta map[string]any) { w.forge(o, meta) },
		holdTemplate:    func(_, meta map[string]any) { meta["finalizers"] = []any{"example.com/hold"} },
		releaseTemplate: func(_, meta map[string]any) { delete(meta, "finalizers") },
	}
	edit := edits[o.verb]
	if edit == nil || w.hub.Live(o.key) == nil {
		return false
	}
	if o.verb == forgeTemplate && !w.watches(o.key) {
		return false // nobody looks at that kind, until everything is started again
	}
	return w.hub.Apply(o.key, func(obj map[string]any) { edit(obj, obj["metadata"].(map[string]any)) })
}

// forgedID is the permanent id of no policy.
const forgedID = "id-of-nobody"

// forge writes the claim of a policy that exists, or that never did.
func (w *world) forge(o op, meta map[string]any) {
	claim := propagation.Claim{Policy: o.policy, ID: forgedID}
	if p := w.hub.LivePolicy(o.policy); p != nil {
		claim.ID = p.ID
	}
	labels, annotations := claim.Metadata()
	for k, v := range labels {
		if v == nil {
			unset(meta, "labels", k)
		} else {
			set(meta, "labels", k, *v)
		}
	}
	for k, v := range annotations {
		if v != nil {
			set(meta, "annotations", k, *v)
		}
	}
}

func (w *world) foreign(o op) map[string]any {
	meta := map[string]any{"name": o.key.Name}
	if o.key.Namespace != "" {
		meta["namespace"] = o.key.Namespace
	}
	return map[string]any{"apiVersion": o.key.APIVersion, "kind": o.key.Kind, "metadata": meta, "foreign": int64(o.n)}
}

// rounds is how many sweeps it may take until nothing changes.
const rounds = 40

// patience is in how many sweeps nothing must change. What a sweeper has to find
// twice each process finds by itself.
func (w *world) patience() int {
	if w.pair {
		return 6
	}
	return 2
}

// rest lets everything be delivered, and sweeps until nothing changes.
func (w *world) rest() {
	w.noRedis = false
	for _, m := range w.members {
		m.Down = false
	}
	w.hub.Join("m3")
	w.makeKinds()
	w.makeUsable()
	w.safety.proofs.look(w)
	// One sweep may be cut off where others take their time; the next goes on.
	for round, quiet := 0, 0; w.err == nil; round++ {
		before := w.writes.Load()
		w.drain()
		built, err := w.claims.Built(w.ctx)
		if err != nil {
			w.fail("ask Redis: %v", err)
		}
		if round > 0 && w.writes.Load() == before && built && len(w.broker.asleep) == 0 {
			quiet++
		} else {
			quiet = 0
		}
		if quiet == w.patience() {
			break
		}
		if round == rounds {
			w.fail("after %d sweeps there are still %d writes; still to be delivered: %s", rounds, w.writes.Load()-before, w.queued())
		}
		w.pass(time.Minute)
		w.useKept()
		w.makeNamespaces()
		if w.makeKinds() {
			w.safety.proofs.look(w)
		}
		w.tick()
	}
	if w.err == nil {
		w.atRest()
	}
}
