// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/test/pipelinetest"
)

// What people do by hand to what is Sluice's.
const (
	dropBinding   verb = "delete binding"
	dropNamespace verb = "delete the namespace of Works"
	dropBindings  verb = "delete the kind of bindings"
	dropWorks     verb = "delete the kind of Works"
	makeKinds     verb = "make the deleted kinds again"
	activate      verb = "activate" // kubectl sluice activate
	stripObject   verb = "strip"    // the marks of Sluice from an object in a member
)

// byHand does what people do to what is Sluice's; false: nothing.
func (w *world) byHand(o op) (changed, known bool) {
	switch o.verb {
	case dropBinding:
		b := w.bindingOf(o.key)
		w.mayStrand(b)
		return b != nil && w.hub.DropBinding(b.Key), true
	case dropNamespace:
		w.mayOrphan(o.cluster)
		return w.hub.DropNamespace("karmada-es-" + o.cluster), true
	case dropBindings:
		w.mayStrand(w.hub.LiveBindings()...)
		return w.hub.DropKind(pipelinetest.KindBindings), true
	case dropWorks:
		w.mayOrphan(clusters...)
		return w.hub.DropKind(pipelinetest.KindWorks), true
	case makeKinds:
		return w.makeKinds(), true
	case removeWork:
		work := w.workOf(o.key, o.cluster)
		if work == nil || !w.hub.RemoveWork(work.Key) {
			return false, true
		}
		w.did[removeWork]++
		return true, true
	case activate:
		return w.activate(o.key), true
	case stripObject:
		return w.members[o.cluster].Strip(o.key), true
	}
	return false, false
}

// activate asks that the policy acts on the template in exactly its present form.
func (w *world) activate(key propagation.TemplateKey) bool {
	t, b := w.hub.Live(key), w.bindingOf(key)
	if t == nil || b == nil {
		return false
	}
	p := w.hub.LivePolicy(t.Claim.Policy)
	return p != nil && p.ID == t.Claim.ID && w.hub.AnnotateBinding(b.Key, "sluice.dev/activate", requestFor(p))
}

// requestFor is what is asked for.
func requestFor(p *propagation.Policy) string { return fmt.Sprintf("%s/%d", p.ID, p.Generation) }

func (w *world) makeKinds() bool {
	bindings, works := w.hub.MakeKind(pipelinetest.KindBindings), w.hub.MakeKind(pipelinetest.KindWorks)
	return bindings || works
}

// makeNamespaces has the hub's source tell of members whose namespace of Works is
// gone: one that no Work needs is made with the next event of its member.
func (w *world) makeNamespaces() {
	for _, name := range w.joined() {
		if !w.hub.HasNamespace("karmada-es-" + name) {
			w.announce(hub.Change{Type: hub.Updated, Key: propagation.TemplateKey{APIVersion: "cluster.karmada.io/v1alpha1", Kind: "Cluster", Name: name}})
		}
	}
}

// mayOrphan notes what members have while people delete all that tells of it. What
// goes from the hub before that was made again, nothing can take out of them any more:
// it stays, and people may ask for it (kubectl sluice get orphans).
func (w *world) mayOrphan(of ...string) {
	for _, c := range of {
		for _, o := range w.members[c].Objects() {
			if o.Work != "" {
				w.orphans[place{c, o.Ref.ID()}] = true
			}
		}
	}
}

// mayStrand notes what members have of the bindings because others refer to it, or what
// is just being taken from them, before people delete these: neither is known to those
// that are made anew.
func (w *world) mayStrand(of ...*propagation.Binding) {
	for _, work := range w.hub.LiveWorks() {
		if (work.FollowsOthers() || work.Deleting) && slices.ContainsFunc(of, func(b *propagation.Binding) bool { return b != nil && b.Key == work.Binding() }) {
			w.stranded[place{work.Key.Cluster, templateOf(work).ID()}] = true
		}
	}
}

// orphan tells whether the object may be there although no Work tells of it. Where
// nothing is in force, it even has to: its Work is let go, so that the namespace or the
// kind can end, and proves nothing by that. What a member kept when it left gets no Work
// either while nobody has the content in force.
func (w *world) orphan(cluster string, o *pipelinetest.Object) bool {
	at := place{cluster, o.Ref.ID()}
	s := w.safety.proofs.put[at]
	if w.stranded[at] && (!w.placedIn(cluster, o.Ref) || w.keptNoMore(w.bindingOf(o.Ref))) {
		return true
	}
	return w.orphans[at] && (s == nil || s.keeps == "" || !inForce(w.bindingOf(o.Ref)) || w.hub.Live(o.Ref) != nil && string(w.hub.Live(o.Ref).UID) != s.uid)
}

// unbinds tells whether o takes the binding of the template away.
func (o op) unbinds(key propagation.TemplateKey) bool {
	return o.verb == dropBindings || o.verb == dropBinding && o.key.ID() == key.ID()
}

// handy is what people do by hand.
func (d drawer) handy(s style) []op {
	run := func() op { return op{verb: deliver, n: 1 + d.IntN(60), seed: d.Uint64() | 1} }
	switch n := d.IntN(100); {
	case n < 40:
		return []op{{verb: dropBinding, key: d.template(s)}}
	case n < 55:
		return []op{{verb: dropNamespace, cluster: pick(d, clusters)}}
	case n < 65:
		return []op{{verb: dropBindings}, run(), {verb: makeKinds}}
	case n < 75:
		return []op{{verb: dropWorks}, run(), {verb: makeKinds}}
	}
	return []op{{verb: stripObject, key: d.template(s), cluster: pick(d, clusters)}}
}

// comes tells whether the Work is of a former template, and the present one, which nothing
// is in force for, was made in what the processes hold for the future, as the hub's clock is
// ahead. Where it goes they wait to see until theirs has come to that, and members keep what
// the former one brought.
func (w *world) comes(work *propagation.Work) bool {
	t := w.hub.Live(templateOf(work))
	return t != nil && w.bindingOf(t.Key) == nil && work.Annotations[propagation.AnnotationTemplateUID] != string(t.UID) && t.Created.After(w.now)
}

// unbound tells whether nothing is in force for a template that lives: people
// deleted its binding, and its policy waits. Then members keep what they have.
func (w *world) unbound(key propagation.TemplateKey) bool {
	t, b := w.hub.Live(key), w.bindingOf(key)
	return t != nil && w.past.unbound[string(t.UID)] && (!inForce(b) || b.Spec.Resource.UID != t.UID)
}
