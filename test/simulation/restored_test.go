// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sluice.dev/pkg/core/propagation"
)

// asPlaced is the form of a binding that somebody deleted, and that was made again from
// Works which did not tell it.
func asPlaced(policy, id string) string { return fmt.Sprintf("%s %s as its Works are", policy, id) }

// remember notes what was in force for a template: a binding may be made again as it
// was, while Works of it are there.
func (p *past) remember(uid string, b bound) {
	if b.form == "" {
		return
	}
	if p.forms[uid] == nil {
		p.forms[uid] = map[bound]bool{}
	}
	p.forms[uid][bound{acted: b.acted, form: b.form}] = true
}

// remade are what the binding of a template may say that somebody deleted, as far as
// the template holds what was in force, and a policy whose changes wait holds it.
func (r *reaching) remade(i, k int, s state) (all []bound) {
	t := s.knows(r.moments[i].things[r.id])
	holder, stands := holderOf(r.moments[k].rules, t, s.claimed)
	if s.bound != (bound{}) || !stands || holder == nil || !holder.lazy() && !r.moments[k].gates.Static {
		return nil
	}
	for was := range r.forms[t.uid] {
		if was.acted == t.hash {
			for _, form := range []string{was.form, formOf(holder.Policy), asPlaced(holder.Key.ID(), holder.ID)} {
				all = append(all, bound{acted: t.hash, form: form, used: s.wait, version: holder.reads(t, s.bound)})
			}
		}
	}
	return all
}

// remakes tells whether a binding says what an earlier one of the template said, or that
// it stays where its Works are.
func (w *world) remakes(b *propagation.Binding) bool {
	now := bound{acted: w.safety.contents.of(b.ActedHash()), form: formIn(b)}
	if w.past.forms[string(b.Spec.Resource.UID)][now] {
		return true
	}
	var names []string
	for _, work := range w.hub.LiveWorks() {
		if work.Binding() == b.Key && !work.FollowsOthers() && !work.Deleting && work.Annotations[propagation.AnnotationTemplateUID] == string(b.Spec.Resource.UID) {
			names = append(names, work.Key.Cluster)
		}
	}
	slices.Sort(names)
	to := b.Spec.Placement
	return len(names) > 0 && to != nil && to.ClusterAffinity != nil && slices.Equal(names, to.ClusterAffinity.ClusterNames)
}

// Somebody deletes the binding while a change of its policy waits: the change goes on
// waiting, and acts with the template's next change.
func TestZ4AChangeWaitsOnWhenABindingIsDeleted(t *testing.T) {
	key, p := deployment("shop", "nginx"), namespaced("a")
	for sentence, tc := range map[string]struct {
		gates         propagation.Features
		before, after op
	}{
		"a Lazy policy":                    {before: said(p, "m1", lazily), after: said(p, "m2", lazily)},
		"a policy that becomes Lazy":       {before: said(p, "m1"), after: said(p, "m2", lazily)},
		"a policy with StaticPolicy on":    {gates: propagation.Features{Static: true}, before: said(p, "m1"), after: said(p, "m2")},
		"StaticPolicy, switched on later":  {before: said(p, "m1"), after: op{verb: switchGates, gates: propagation.Features{Static: true}}},
		"another Lazy policy, the first's": {before: said(p, "m1", lazily), after: op{verb: dropPolicy, policy: p}},
	} {
		for _, drop := range [][]op{{{verb: dropBinding, key: key}}, {{verb: dropBindings}, {verb: makeKinds}}} {
			t.Run(fmt.Sprint(sentence, ": ", drop[0].verb), func(t *testing.T) {
				w := newLab(t).start(climate{lanes: true, follow: true, flights: 1})
				step := func(all ...op) {
					t.Helper()
					for _, o := range all {
						w.pass(3 * time.Second)
						w.do(o)
					}
					if w.rest(); w.err != nil {
						t.Fatal(w.err)
					}
				}
				put := func(image int) op {
					return op{verb: putTemplate, key: key, content: content{image: image, replicas: 2, tier: "front"}}
				}
				is := func(when, want string) {
					t.Helper()
					for _, c := range []string{"m1", "m2"} {
						if there := w.members[c].Object(key) != nil; there != (c == want) {
							t.Fatalf("%s: it is in %s: %t", when, c, there)
						}
					}
				}
				step(op{verb: switchGates, gates: tc.gates})
				step(tc.before)
				step(put(1))
				is("at first", "m1")
				step(tc.after)
				switch tc.after.verb {
				case dropPolicy:
					step(said(namespaced("b"), "m2", lazily))
				case switchGates:
					step(said(p, "m2"))
				}
				is("while the change waits", "m1")
				step(drop...)
				is("the binding was deleted", "m1")
				step(drop...)
				is("and once more", "m1")
				step(put(2))
				is("the template changed", "m2")
				if w.final(); w.err != nil {
					t.Error(w.err)
				}
			})
		}
	}
}
