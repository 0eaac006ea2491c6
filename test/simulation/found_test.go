// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// What histories found, each as short as it could be made.
func TestFound(t *testing.T) {
	labelled := func(tier string) func(*policyv1alpha1.PropagationSpec) {
		return func(s *policyv1alpha1.PropagationSpec) {
			r := &s.ResourceSelectors[0]
			r.Namespace, r.Name, r.LabelSelector = "", "", &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}
		}
	}
	suspended := func(s *policyv1alpha1.PropagationSpec) {
		yes := true
		s.Suspension = &policyv1alpha1.Suspension{Dispatching: &yes}
	}
	for name, tc := range map[string]struct {
		climate climate
		history []op
	}{
		"1002: a Work whose binding is gone does not say that it is held back": {
			climate{lanes: true, flights: 1},
			[]op{said(namespaced("c"), "m1"), alone(1), {verb: rest}, {verb: dropPolicy, policy: namespaced("c")}, {verb: dropBinding, key: nginx}, said(clusterWide("x"), "m1", lazily, suspended)},
		},
		"1184: nobody saw what a policy said for less than a second": {
			climate{lanes: true, keeps: true, flights: 1},
			[]op{
				said(clusterWide("x"), "m3", lazily, labelled("front")), {verb: deliver}, alone(1),
				said(clusterWide("x"), "m2", labelled("back")), {verb: holdTemplate, key: nginx}, said(clusterWide("x"), "m2", lazily, labelled("front")),
			},
		},
		"39, second family: no cluster fits a template that was made anew, and its former self is in one": {
			climate{keeps: true, flights: 1},
			[]op{said(namespaced("a"), "m1"), alone(1), {verb: rest}, {verb: dropTemplate, key: nginx}, said(namespaced("a"), "m4"), alone(2)},
		},
		"100465: a sweep writes the status of a policy before Redis knows what it selects": {
			climate{lanes: true, keeps: true, flights: 1},
			[]op{
				said(namespaced("a"), "m1"), alone(1), {verb: deliver},
				later(said(namespaced("a"), "m1", lazily, withDeps, labelled("front"))), {verb: putTemplate, key: web, content: content{image: 1, tier: "front"}}, {verb: tick},
			},
		},
		"2492: nobody holds a template, its binding is deleted, and the kind of Works": {
			climate{lanes: true, keeps: true, flights: 1},
			[]op{said(namespaced("c"), "m1"), alone(1), {verb: rest}, {verb: dropPolicy, policy: namespaced("c")}, {verb: rest}, {verb: dropBinding, key: nginx}, {verb: dropWorks}},
		},
		"2703: what changed while it was being deleted elects nobody when a gate is switched": {
			climate{lanes: true, keeps: true, flights: 1},
			[]op{
				alone(1), {verb: holdTemplate, key: nginx}, said(clusterWide("x"), "m1"), {verb: rest}, {verb: dropTemplate, key: nginx},
				said(namespaced("a"), "m2"), alone(2), {verb: rest}, {verb: switchGates, gates: propagation.Features{Static: true}},
			},
		},
		"the binding is deleted of what a policy holds and another template takes along": {
			climate{lanes: true, keeps: true, flights: 1},
			[]op{said(namespaced("c"), "m3", withDeps), madeSettings(), made(1), said(clusterWide("x"), "m2", onlySettings), {verb: rest}, {verb: dropBinding, key: settings}},
		},
		"3149: the bindings are deleted of what nobody holds, and of what it takes along": {
			climate{lanes: true, keeps: true, flights: 1},
			[]op{
				said(namespaced("c"), "m3", withDeps), madeSettings(), made(1), said(clusterWide("x"), "m2", onlySettings), {verb: rest},
				{verb: dropPolicy, policy: namespaced("c")}, {verb: rest}, {verb: dropBindings}, {verb: makeKinds},
			},
		},
		"4265: so they are, and the kind of Works": {
			climate{lanes: true, keeps: true, flights: 1},
			[]op{
				said(namespaced("c"), "m3", withDeps), madeSettings(), made(1), {verb: rest},
				{verb: dropPolicy, policy: namespaced("c")}, {verb: rest}, {verb: dropBindings}, {verb: deliver}, {verb: makeKinds}, {verb: dropWorks}, {verb: deliver}, {verb: makeKinds},
			},
		},
		"3416: a policy waits, its template's binding is deleted, and the namespace of its Work": {
			climate{lanes: true, keeps: true, flights: 1},
			[]op{
				said(namespaced("c"), "m1"), alone(1), {verb: rest}, {verb: dropPolicy, policy: namespaced("c")}, {verb: deliver}, said(clusterWide("x"), "m1", lazily), {verb: deliver},
				{verb: dropBinding, key: nginx}, {verb: dropNamespace, cluster: "m1"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := newLab(t).run(tc.climate, tc.history); err != nil {
				t.Error(err)
			}
		})
	}
}

// later is o, seconds after what was before.
func later(o op) op {
	o.after = 7 * time.Second
	return o
}
