// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest"
)

// Nothing leaves a member without proof: what Sluice put there it takes away only
// if the template is gone, or a binding in force leaves the cluster out. This file
// tells that from the state of the hub as it is, by its own words.

// proofs are what may leave.
type proofs struct {
	// tick counts the changes of what it follows from.
	tick int
	put  map[place]*memberObject
	// follows are the templates that take others along, by what they take along.
	follows map[string]map[string]*following
}

// place is an object in a member, by its template's ID.
type place struct{ cluster, id string }

// memberObject is an object that Sluice put into a member.
type memberObject struct {
	key propagation.TemplateKey
	// uid of the template that it was put there for.
	uid string
	// keeps says why it has to stay; empty: it may leave.
	keeps string
	// until is the tick at which it ceased to be free to leave.
	until int
}

// following is a template that takes another along: to which clusters it did when
// that was to be told last.
type following struct {
	key      propagation.TemplateKey
	uid      string
	clusters []string
}

func newProofs() proofs {
	return proofs{put: map[place]*memberObject{}, follows: map[string]map[string]*following{}}
}

// placed notes what Sluice put into a member.
func (p *proofs) placed(w *world, m pipelinetest.MemberWrite, uid string) {
	at := place{m.Cluster, m.New.Ref.ID()}
	if s := p.put[at]; s != nil && s.uid == uid {
		return
	}
	p.put[at] = &memberObject{key: m.New.Ref, uid: uid, keeps: "it was just put there"}
	p.look(w)
}

// attached notes what a binding is taken along by.
func (p *proofs) attached(w *world, b *propagation.Binding) {
	for _, r := range b.Spec.RequiredBy {
		parent := w.hub.LiveBinding(propagation.BindingKey{Namespace: r.Namespace, Name: r.Name})
		if parent == nil {
			continue
		}
		id := b.Template().ID()
		if p.follows[id] == nil {
			p.follows[id] = map[string]*following{}
		}
		p.follows[id][parent.Template().ID()] = &following{key: parent.Template(), uid: string(parent.Spec.Resource.UID)}
	}
}

// look tells anew what may leave: something changed.
func (p *proofs) look(w *world) {
	p.tick++
	for id, parents := range p.follows {
		for _, parent := range slices.Sorted(maps.Keys(parents)) {
			if !parents[parent].look(w, id) {
				delete(parents, parent)
			}
		}
	}
	for at, s := range p.put {
		keeps := p.keeps(w, at, s)
		if keeps != "" && s.keeps == "" {
			s.until = p.tick
		}
		s.keeps = keeps
	}
}

// look tells whether the template still takes the other along, and where to. As
// long as it lives, and what is in force for it cannot be told, it does as it did.
func (f *following) look(w *world, id string) bool {
	t, b := w.hub.Live(f.key), w.bindingOf(f.key)
	switch {
	case t == nil, t.Deleting, string(t.UID) != f.uid:
		return false
	case !inForce(b), b.Spec.Resource.UID != t.UID, formIn(b) == "":
		return true
	case !slices.ContainsFunc(w.refers(b), func(k propagation.TemplateKey) bool { return k.ID() == id }):
		return false
	}
	f.clusters = w.wants(b)
	return true
}

// keeps says why an object has to stay in its member; empty: it may leave.
func (p *proofs) keeps(w *world, at place, s *memberObject) string {
	t, b := w.hub.Live(s.key), w.bindingOf(s.key)
	switch {
	case !w.hub.Joined(at.cluster):
		return at.cluster + " has left"
	case t == nil || t.Deleting:
		return ""
	case inForce(b) && b.Spec.Resource.UID == t.UID && slices.Contains(w.goesTo(b), at.cluster):
		return b.Key.String() + " wants it there"
	case string(t.UID) != s.uid:
		return "" // and what is in force for its successor does not want it
	case !inForce(b) || b.Spec.Resource.UID != t.UID:
		return "its template is there, and no binding is in force"
	case b.Spec.Placement != nil && len(w.goesTo(b)) == 0:
		return "no cluster satisfies its placement"
	}
	for _, f := range p.follows[at.id] {
		if slices.Contains(f.clusters, at.cluster) {
			return f.key.String() + " takes it along"
		}
	}
	return ""
}

// left checks that what a stage just took out of a member might leave at some time
// since the attempt began.
func (p *proofs) left(w *world, f *flight, m pipelinetest.MemberWrite) {
	at := place{m.Cluster, m.Old.Ref.ID()}
	s := p.put[at]
	delete(p.put, at)
	switch {
	case s == nil || m.Old.Work == "":
		w.fail("%s was taken out of %s, and nobody had put it there", m.Old.Ref, m.Cluster)
	case s.keeps != "" && s.until <= f.tick:
		w.fail("%s was taken out of %s without proof: %s", m.Old.Ref, m.Cluster, s.keeps)
	}
}
