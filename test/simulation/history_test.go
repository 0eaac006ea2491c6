// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/pkg/core/propagation"
)

// state is where one template may be.
type state struct {
	claimed
	bound
}

// moment is the hub as people left it at one moment.
type moment struct {
	things map[string]thing
	rules  []rule
	gates  propagation.Features
	// version grows when rules or gates change.
	version int
	// written is the template whose metadata somebody wrote just now, and how
	// that changed its claim; nil: not at all.
	written string
	tamper  func(claimed) claimed
	// unbinds tells whether somebody deleted a template's binding just now; nil: no.
	unbinds func(key propagation.TemplateKey) bool
}

// past is what people did, and where that may have led since the last rest.
type past struct {
	// lag: what is read of one kind may be older than what is read of another.
	lag     bool
	count   int
	moments []moment
	// from is the count of the first of the moments, at which all was at rest.
	from int
	// before are the states of the templates at that time.
	before map[string]state
	// required are the templates that others may have taken along since.
	required map[string]bool
	// ever are all templates there ever were, by ID.
	ever map[string]propagation.TemplateKey
	// unbound are the templates, by uid, whose binding people ever deleted.
	unbound map[string]bool
	// forms are what was ever in force for a template, by uid.
	forms map[string]map[bound]bool
}

func (p *past) begin(w *world) {
	p.ever, p.unbound, p.forms, p.lag = map[string]propagation.TemplateKey{}, map[string]bool{}, map[string]map[bound]bool{}, w.lag
	p.settle(w, map[string]state{})
}

// settle forgets how the present state came about.
func (p *past) settle(w *world, states map[string]state) {
	now := moment{things: map[string]thing{}, gates: w.hub.LiveFeatures()}
	if len(p.moments) > 0 {
		now = p.moments[len(p.moments)-1]
		now.written, now.tamper, now.unbinds = "", nil, nil
	}
	p.moments, p.from, p.before, p.required = []moment{now}, p.count, states, map[string]bool{}
	for _, b := range w.hub.LiveBindings() {
		p.require(b)
	}
	for id, t := range now.things {
		t.seen, t.former, t.asked = w.watches(t.key), nil, nil
		now.things[id] = t
	}
}

// require notes what a binding takes along.
func (p *past) require(b *propagation.Binding) {
	if len(b.Spec.RequiredBy) > 0 {
		p.required[b.Template().ID()] = true
	}
}

// last is the count of the present moment.
func (p *past) last() int { return p.count }

// at is the moment of that count; one before the last rest counts as that.
func (p *past) at(count int) moment { return p.moments[max(0, count-p.from)] }

// note takes down what people just did.
func (p *past) note(w *world, o op) {
	p.count++
	old := p.moments[len(p.moments)-1]
	m := moment{things: maps.Clone(old.things), gates: w.hub.LiveFeatures()}
	if o.key.Name != "" && o.verb != dropBinding && o.verb != stripObject && o.verb != activate {
		p.ever[o.key.ID()] = o.key
		m.written, m.tamper = o.key.ID(), tampering(w, o)
		delete(m.things, o.key.ID())
		if t := w.hub.Live(o.key); t != nil {
			m.things[o.key.ID()] = p.thing(w, old.things[o.key.ID()], t)
			if err := w.safety.contents.learn(t); err != nil {
				w.fail("%v", err)
			}
		}
	}
	if t, ok := m.things[o.key.ID()]; ok && o.verb == activate {
		t.asked = append(slices.Clone(t.asked), w.bindingOf(o.key).Annotations["sluice.dev/activate"])
		m.things[o.key.ID()] = t
	}
	if o.verb == dropBinding || o.verb == dropBindings {
		m.unbinds = o.unbinds
		for _, t := range w.hub.LiveTemplates() {
			p.unbound[string(t.UID)] = p.unbound[string(t.UID)] || o.unbinds(t.Key)
		}
	}
	for _, l := range w.hub.LivePolicies() {
		m.rules = append(m.rules, p.rule(old.rules, l, w.gears.served()))
	}
	m.version = old.version
	if m.gates != old.gates || !slices.EqualFunc(m.rules, old.rules, func(a, b rule) bool { return a.Policy == b.Policy && a.served == b.served }) {
		m.version++
	}
	p.moments = append(p.moments, m)
}

func (p *past) thing(w *world, old thing, t *propagation.Template) thing {
	next := thing{key: t.Key, uid: string(t.UID), hash: contentOf(t.Object), labels: t.Labels, deleting: t.Deleting, changed: p.count, second: t.LastUserWrite}
	switch {
	case old.uid != next.uid:
	case old.hash == next.hash:
		next.changed, next.faint, next.seen, next.lost, next.former, next.asked = old.changed, old.faint, old.seen, old.lost, old.former, old.asked
		next.marked, next.blurred = true, old.blurred || !old.seen
	default:
		next.former, next.asked = map[string]bool{old.hash: true}, old.asked
		maps.Copy(next.former, old.former)
		// The API server notes no time where something was only taken away.
		next.faint = !t.LastUserWrite.Equal(w.hubTime().Truncate(time.Second))
	}
	return next
}

// lose notes that Redis was lost.
func (p *past) lose() {
	now := p.moments[len(p.moments)-1]
	for id, t := range now.things {
		t.seen, t.lost, t.blurred = false, true, t.blurred || t.marked
		now.things[id] = t
	}
}

func (p *past) rule(old []rule, l *propagation.Policy, served string) rule {
	r := rule{Policy: l, written: p.count, served: served}
	if i := slices.IndexFunc(old, func(o rule) bool { return o.UID == l.UID }); i >= 0 {
		if old[i].Generation == l.Generation && old[i].served == served {
			return old[i] // its status changed at most
		}
		r.faint = old[i].faint || old[i].LastUserWrite.Equal(l.LastUserWrite)
		r.forms = slices.Clone(old[i].forms)
		if old[i].Generation == l.Generation {
			r.written, r.faint = old[i].written, old[i].faint
		}
	}
	r.forms = append(r.forms, formSince{p.count, l, served})
	return r
}

// tampering is how what somebody wrote changes what a template says about its
// claim; nil: not at all.
func tampering(w *world, o op) func(claimed) claimed {
	t := w.hub.Live(o.key)
	if t == nil {
		return nil
	}
	switch o.verb {
	case unclaimTemplate:
		return func(c claimed) claimed { return c.forgot(claimed{wait: c.wait}) }
	case replaceTemplate:
		return func(c claimed) claimed { return c.forgot(claimed{}) }
	case forgeTemplate:
		return func(c claimed) claimed {
			return c.forgot(claimed{policy: t.Claim.Policy.ID(), id: t.Claim.ID, wait: c.wait})
		}
	}
	return nil
}

// reach are the states that a template may have come to since the last rest, and
// that it has come to now if all is at rest.
func (p *past) reach(key propagation.TemplateKey) map[state]bool {
	r := &reaching{past: p, id: key.ID(), set: map[state]bool{p.before[key.ID()]: true}}
	r.forget()
	r.close(0)
	for j := 1; j < len(p.moments); j++ {
		r.move(j)
		r.close(j)
	}
	return r.set
}

// reaching is the search for one template.
type reaching struct {
	*past
	id  string
	set map[state]bool
	// looks are what the gate may have read of the template, and tried the moment
	// up to which the policies' were gone through with each.
	looks []look
	tried []int
	known map[look]bool
	// turns are what may have come of a binding.
	turns map[bound]map[bound]bool
	// decided is the moment up to which the policies' were gone through for the
	// claim in each state.
	decided map[state]int
}

// look is the template, by the moment at which it came to be so, in a state.
type look struct {
	moment int
	state
}

func (r *reaching) forget() {
	r.looks, r.tried, r.known, r.turns = nil, nil, map[look]bool{}, map[bound]map[bound]bool{}
	r.decided = map[state]int{}
}

// move makes of the states what people made of them at moment j.
func (r *reaching) move(j int) {
	now, before := r.moments[j].things[r.id], r.moments[j-1].things[r.id]
	m := r.moments[j]
	if m.unbinds != nil && now.uid != "" && m.unbinds(now.key) {
		next := map[state]bool{}
		for s := range r.set {
			r.remember(now.uid, s.bound)
			next[state{claimed: s.claimed}] = true
		}
		r.set = next
		r.forget()
		return
	}
	switch {
	case now.uid != before.uid:
		r.set = map[state]bool{{}: true} // gone, or another
		r.forget()
	case m.written == r.id:
		r.decided = map[state]int{}
		next := map[state]bool{}
		for s := range r.set {
			if m.tamper != nil {
				s.claimed = m.tamper(s.claimed)
			}
			next[s] = true
		}
		r.set = next
	}
}

// close adds what the stages may have made of the states by moment j: each look
// at the claim and at the gate may have come, or not.
func (r *reaching) close(j int) {
	if r.moments[j].things[r.id].uid == "" {
		return
	}
	for grown := true; grown; {
		n := len(r.set)
		for s := range maps.Clone(r.set) {
			r.claims(j, s)
			r.see(j, s)
		}
		r.activations(j)
		for s := range maps.Clone(r.set) {
			for b := range r.turns[s.bound] {
				r.set[state{s.claimed, b}] = true
			}
		}
		grown = len(r.set) > n
	}
}

// claims adds the claims that s may lead to by moment j. The template is as it is
// at j, for the write is conditional on that. The policies are as they were when
// they were read, as far as the index knew of them: of each that changed since
// the last rest the index may not know yet.
func (r *reaching) claims(j int, s state) {
	t := r.moments[j].things[r.id]
	t = s.knows(t)
	first, begun := r.decided[s]
	if !begun {
		first = r.oldest(j)
	}
	r.decided[s] = j + 1
	for k := first; k <= j; k++ {
		m := r.moments[k]
		if k > first && m.version == r.moments[k-1].version {
			continue
		}
		for _, rules := range r.indexed(m.rules, t) {
			for _, c := range claim(t, rules, m.gates, s.claimed, s.bound, fmt.Sprint(j)) {
				r.set[state{c, s.bound}] = true
			}
		}
	}
}

// indexed are the choices from the rules that select t: those that did so at the
// last rest, and any of the others.
func (r *reaching) indexed(rules []rule, t thing) [][]rule {
	choices := [][]rule{nil}
	for _, l := range rules {
		if _, ok := l.matches(t); !ok {
			continue
		}
		sure := l.selectedAt(r.from, t)
		for _, f := range l.forms {
			_, selected := f.rule().matches(t)
			sure = sure && (selected || f.moment <= r.from)
		}
		n := len(choices)
		for i := range n {
			with := append(slices.Clone(choices[i]), l)
			if sure {
				choices[i] = with
			} else {
				choices = append(choices, with)
			}
		}
	}
	return choices
}

// oldest is the moment of the oldest policies that may be read along with the
// template as it is at moment j: without lag they are read after it.
func (r *reaching) oldest(j int) int {
	if r.lag {
		return 0
	}
	for j > 0 && r.moments[j].written != r.id {
		j--
	}
	return j
}

// see notes that the gate may read the template in state s at moment j.
func (r *reaching) see(j int, s state) {
	at := j
	for at > 0 && r.moments[at].written != r.id {
		at--
	}
	if l := (look{at, s}); !r.known[l] {
		r.known[l] = true
		r.looks = append(r.looks, l)
		first := j
		if r.lag {
			first = 0
		}
		r.tried = append(r.tried, first)
	}
	if s.form == "" && s.acted != "" {
		r.turn(s.bound, bound{}) // nobody takes it along any more
	}
}

// activations adds what may come of all looks at the gate by moment j, which
// reads the policy after the template.
func (r *reaching) activations(j int) {
	for i, l := range r.looks {
		for k := r.tried[i]; k <= j; k++ {
			if k > r.tried[i] && r.moments[k].version == r.moments[k-1].version {
				continue
			}
			for _, required := range r.requirements() {
				r.turn(l.bound, r.activation(l.moment, k, required, l.state))
				for _, b := range r.remade(l.moment, k, l.state) {
					r.turn(l.bound, r.activation(l.moment, k, required, state{l.claimed, b}))
				}
				if next, ok := r.requested(l.moment, k, l.state); ok {
					r.turn(l.bound, next)
				}
			}
		}
		r.tried[i] = j + 1
	}
}

func (r *reaching) turn(from, to bound) {
	if r.turns[from] == nil {
		r.turns[from] = map[bound]bool{}
	}
	r.turns[from][to] = true
}

func (r *reaching) requirements() []bool {
	if r.required[r.id] {
		return []bool{false, true}
	}
	return []bool{false}
}

// activation is what comes of s at the gate, the template read at moment i, the
// policy at moment k.
func (r *reaching) activation(i, k int, required bool, s state) bound {
	t := s.knows(r.moments[i].things[r.id])
	holder, stands := holderOf(r.moments[k].rules, t, s.claimed)
	if !stands {
		return s.bound
	}
	next, _ := act(t, holder, r.moments[k].gates, required, s.claimed, s.bound)
	return next
}

// requested is what comes of s at the gate where somebody asked for that; false:
// nobody did.
func (r *reaching) requested(i, k int, s state) (bound, bool) {
	t := s.knows(r.moments[i].things[r.id])
	holder, stands := holderOf(r.moments[k].rules, t, s.claimed)
	if !stands || holder == nil || t.deleting || !slices.Contains(r.moments[len(r.moments)-1].things[r.id].asked, requestFor(holder.Policy)) {
		return bound{}, false
	}
	return bound{acted: t.hash, form: formOf(holder.Policy), used: s.wait, version: holder.reads(t, s.bound)}, true
}

// holderOf is the policy that the claim names; false: it does not stand.
func holderOf(rules []rule, t thing, c claimed) (*rule, bool) {
	if c.id == "" {
		return nil, true
	}
	for _, m := range ranked(rules, t) {
		if c.by(m) {
			return &m.rule, true
		}
	}
	return nil, false
}

// normal is s without what tells one wait from another, and without a wait that
// is over.
func (s state) normal() state {
	if s.wait == s.used {
		s.wait = ""
	}
	s.wait, _, _ = strings.Cut(s.wait, "@")
	s.used, s.as, s.former = "", "", holding{}
	return s
}
