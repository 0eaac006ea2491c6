// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"strings"
	"testing"
	"time"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// A step of a sequence diagram: what somebody does, and where nginx and its
// settings are then, as "m1+m2"; empty: nowhere.
type diagramStep struct {
	op
	nginx, settings string
}

// A said policy, in the words of the diagrams.
func said(key propagation.PolicyKey, to string, more ...func(*policyv1alpha1.PropagationSpec)) op {
	spec := policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: nginx.APIVersion, Kind: nginx.Kind, Namespace: nginx.Namespace, Name: nginx.Name}},
		Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: strings.Split(to, "+")}},
	}
	for _, m := range more {
		m(&spec)
	}
	return op{verb: putPolicy, policy: key, spec: spec}
}

func lazily(s *policyv1alpha1.PropagationSpec) {
	s.ActivationPreference = policyv1alpha1.LazyActivation
}
func withDeps(s *policyv1alpha1.PropagationSpec) { s.PropagateDeps = true }
func andSettings(s *policyv1alpha1.PropagationSpec) {
	s.ResourceSelectors = append(s.ResourceSelectors, policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "ConfigMap", Namespace: settings.Namespace, Name: settings.Name})
}
func suspendedOn(clusters ...string) func(*policyv1alpha1.PropagationSpec) {
	return func(s *policyv1alpha1.PropagationSpec) {
		s.Suspension = &policyv1alpha1.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: clusters}}
	}
}
func onlySettings(s *policyv1alpha1.PropagationSpec) {
	andSettings(s)
	s.ResourceSelectors = s.ResourceSelectors[1:]
}
func elsewhere(s *policyv1alpha1.PropagationSpec) { s.ResourceSelectors[0].Name = "another" }
func preempting(s *policyv1alpha1.PropagationSpec) {
	priority := int32(2)
	s.Priority, s.Preemption = &priority, policyv1alpha1.PreemptAlways
}

// made is nginx, which refers to its settings; n tells changes apart.
func made(n int) op {
	return op{verb: putTemplate, key: nginx, content: content{image: 1, replicas: 2, tier: "front", note: n, refers: true}}
}

// alone is nginx, which refers to nothing.
func alone(n int) op {
	o := made(n)
	o.content.refers = false
	return o
}

func madeSettings() op {
	return op{verb: putTemplate, key: settings, content: content{image: 1, tier: "front"}}
}

// diagrams are the sequence diagrams of the acceptance list.
func diagrams() map[string][]diagramStep {
	pp1, pp2, cpp1, cpp2 := namespaced("a"), namespaced("b"), clusterWide("x"), clusterWide("y")
	return map[string][]diagramStep{
		"L37 Simple 1": {{said(pp1, "m1", lazily), "", ""}, {made(1), "m1", ""}, {op{verb: dropPolicy, policy: pp1}, "m1", ""}},
		"L38 Simple 2": {{made(1), "", ""}, {said(pp1, "m1", lazily), "", ""}, {made(2), "m1", ""}},
		"L39 Simple 3": {{said(pp1, "m1", lazily), "", ""}, {made(1), "m1", ""}, {said(pp1, "m2"), "m2", ""}},
		"L40 Simple 4": {{said(pp1, "m1"), "", ""}, {made(1), "m1", ""}, {said(pp1, "m2", lazily), "m1", ""}, {made(2), "m2", ""}},
		"L41 Combined 1": {
			{said(pp1, "m1", lazily), "", ""}, {made(1), "m1", ""}, {said(pp2, "m2", lazily), "m1", ""},
			{op{verb: dropPolicy, policy: pp1}, "m1", ""}, {made(2), "m2", ""},
		},
		"L42 Combined 2": {
			{said(cpp1, "m1", lazily), "", ""}, {made(1), "m1", ""}, {said(cpp2, "m2", lazily), "m1", ""},
			{said(cpp1, "m1", lazily, elsewhere), "m1", ""}, {made(2), "m2", ""},
		},
		"L43 Combined 3": {{said(cpp1, "m1", lazily), "", ""}, {made(1), "m1", ""}, {said(pp2, "m2", preempting), "m2", ""}},
		"L44 Combined 4": {
			{said(pp1, "m1", lazily), "", ""}, {made(1), "m1", ""}, {said(pp2, "m2", lazily, preempting), "m1", ""}, {made(2), "m2", ""},
		},
		"L45 Combined 5": {
			{said(pp1, "m1", lazily, withDeps), "", ""}, {madeSettings(), "", ""}, {made(1), "m1", "m1"},
			{said(pp1, "m2", lazily, withDeps), "m1", "m1"}, {made(2), "m2", "m2"},
		},
		"L46 Combined 6": {
			{made(1), "", ""}, {madeSettings(), "", ""}, {said(pp1, "m1", lazily, andSettings), "", ""}, {made(2), "m1", ""},
			{said(pp1, "m2", lazily, andSettings, withDeps), "m1", ""}, {made(3), "m2", "m2"},
		},
		"S27 what a suspended template referred to stays with it": {
			{madeSettings(), "", ""}, {made(1), "", ""}, {said(pp1, "m1+m2", withDeps), "m1+m2", "m1+m2"},
			{said(pp1, "m1+m2", withDeps, suspendedOn("m1")), "m1+m2", "m1+m2"}, {alone(2), "m1+m2", "m1"}, {said(pp1, "m1+m2", withDeps), "m1+m2", ""},
		},
		"S27 what a suspended template took along stays where that stays": {
			{madeSettings(), "", ""}, {made(1), "", ""}, {said(pp1, "m1+m2", withDeps), "m1+m2", "m1+m2"},
			{said(pp1, "m2+m3", withDeps, suspendedOn("m1", "m3")), "m1+m2", "m1+m2"}, {said(pp1, "m2+m3", withDeps), "m2+m3", "m2+m3"},
		},
		"S27 what was taken along stays where a policy of its own is suspended": {
			{madeSettings(), "", ""}, {made(1), "", ""}, {said(pp1, "m1+m2", withDeps), "m1+m2", "m1+m2"},
			{said(cpp1, "m3", lazily, onlySettings, suspendedOn("m1")), "m1+m2", "m1+m2"}, {alone(2), "m1+m2", "m1"},
			{said(cpp1, "m3", lazily, onlySettings), "m1+m2", ""},
		},
		"S24 the end of the template passes all suspensions": {
			{madeSettings(), "", ""}, {made(1), "", ""}, {said(pp1, "m1+m2", withDeps), "m1+m2", "m1+m2"},
			{said(pp1, "m1+m2", withDeps, suspendedOn("m1")), "m1+m2", "m1+m2"}, {op{verb: dropTemplate, key: settings}, "m1+m2", ""},
			{op{verb: dropTemplate, key: nginx}, "", ""},
		},
	}
}

// TestSequenceDiagrams takes each through every trouble between any two steps:
// after all came to rest, and before anything of the step was handled.
func TestSequenceDiagrams(t *testing.T) {
	troubles := map[string]func(w *world){
		"restart":    (*world).restart,
		"redelivery": func(w *world) { w.broker.queue = append(w.broker.queue, w.broker.ever...) },
		"flush":      (*world).loseRedis,
	}
	l := newLab(t)
	for _, c := range []climate{{lag: true, lanes: true, follow: true, flights: 1}, {keeps: true, echo: true, flights: 1}} {
		for name, steps := range diagrams() {
			for _, early := range []bool{false, true} {
				t.Run(sprintf("%s, all in one process: %t, trouble before it is handled: %t", name, c.follow, early), func(t *testing.T) {
					w := l.start(c)
					w.do(op{verb: switchGates, gates: propagation.Features{Preemption: true}})
					w.rest()
					for _, s := range steps {
						w.pass(3 * time.Second)
						w.do(s.op)
						for what, trouble := range troubles {
							if !early {
								w.rest()
							}
							trouble(w)
							w.rest()
							w.checkPlaces(t, sprintf("%s, then %s", s.op, what), s)
						}
					}
					if w.final(); w.err != nil {
						t.Error(w.err)
					}
				})
			}
		}
	}
}

// checkPlaces checks where nginx and its settings are.
func (w *world) checkPlaces(t *testing.T, when string, want diagramStep) {
	t.Helper()
	for key, places := range map[propagation.TemplateKey]string{nginx: want.nginx, settings: want.settings} {
		var have []string
		for _, c := range clusters {
			if w.members[c].Object(key) != nil {
				have = append(have, c)
			}
		}
		if !slices.Equal(have, strings.FieldsFunc(places, func(r rune) bool { return r == '+' })) {
			t.Errorf("%s: %s is in %v, want %q", when, key, have, places)
		}
	}
	if w.err != nil {
		t.Fatalf("%s: %v", when, w.err)
	}
}
