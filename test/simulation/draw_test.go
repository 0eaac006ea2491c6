// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// What histories are about.
var (
	nginx    = deployment("shop", "nginx")
	web      = deployment("shop", "web")
	other    = deployment("other", "nginx")
	settings = propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	namesake = propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "nginx"}
	viewer   = propagation.TemplateKey{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "viewer"}

	templates = []propagation.TemplateKey{nginx, web, other, settings, namesake, viewer}
	clusters  = []string{"m1", "m2", "m3"}
	policies  = []propagation.PolicyKey{namespaced("a"), namespaced("b"), namespaced("c"), clusterWide("x"), clusterWide("y")}
)

func deployment(namespace, name string) propagation.TemplateKey {
	return propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: name}
}

func namespaced(name string) propagation.PolicyKey {
	return propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: name}
}

func clusterWide(name string) propagation.PolicyKey {
	return propagation.PolicyKey{Scope: propagation.Cluster, Name: name}
}

// drawer draws histories.
type drawer struct{ *rand.Rand }

func newDrawer(seed uint64) drawer { return drawer{rand.New(rand.NewPCG(seed, 0x51ce))} }

func (d drawer) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d drawer, from []T) T { return from[d.IntN(len(from))] }

// style is how a history goes.
type style struct {
	// length is how many things people do.
	length int
	// restEvery is the chance, in percent, that all comes to rest after each.
	restEvery int
	// trouble is the chance, in percent, that something befalls the system.
	trouble int
	// few narrows what the history is about.
	few bool
	// gates may be switched.
	gates bool
	// tamper lets people write what is the system's, and hand delete it.
	tamper, hand bool
}

func (d drawer) style() style {
	return style{
		length: 6 + d.IntN(16), restEvery: pick(d, []int{5, 15, 15, 100}), trouble: pick(d, []int{0, 10, 25}),
		few: d.chance(60), gates: d.chance(60), tamper: d.chance(40), hand: d.chance(40),
	}
}

// history is what happens, from first to last.
func (d drawer) history() []op {
	s := d.style()
	var h []op
	if s.gates && d.chance(50) {
		h = append(h, d.gates())
	}
	for range s.length {
		h = append(h, d.userOp(s))
		if d.chance(6) {
			h = append(h, op{verb: activate, key: d.template(s)})
		}
		if s.hand && d.chance(15) {
			h = append(h, d.handy(s)...)
		}
		if d.chance(20) {
			continue // the next one comes before anything is delivered
		}
		if d.chance(s.trouble) {
			h = append(h, d.troubles()...)
		}
		h = append(h, op{verb: deliver, n: 1 + d.IntN(pick(d, []int{6, 30, 120})), seed: d.Uint64() | 1})
		if d.chance(s.restEvery) {
			h = append(h, op{verb: rest})
		}
	}
	return h
}

func (d drawer) userOp(s style) op {
	o := d.people(s)
	o.after = pick(d, []time.Duration{0, time.Millisecond, 400 * time.Millisecond, 3 * time.Second})
	return o
}

func (d drawer) people(s style) op {
	switch n := d.IntN(100); {
	case n < 34:
		return op{verb: putTemplate, key: d.template(s), content: d.content()}
	case n < 42:
		return op{verb: dropTemplate, key: d.template(s)}
	case n < 76:
		return d.putPolicy(s)
	case n < 84:
		return op{verb: dropPolicy, policy: d.policy(s)}
	case n < 88 && s.gates:
		return d.gates()
	case n < 93:
		return op{verb: pick(d, []verb{markTemplate, reportTemplate, holdTemplate, releaseTemplate}), key: d.template(s), n: 1 + d.IntN(3)}
	case n < 97 && s.tamper:
		return d.tampering(s)
	}
	return op{verb: pick(d, []verb{spoilObject, loseObject, plantObject, removeWork}), key: d.template(s), cluster: pick(d, clusters), n: d.IntN(3)}
}

func (d drawer) tampering(s style) op {
	switch d.IntN(5) {
	case 0:
		return op{verb: unclaimTemplate, key: d.template(s)}
	case 1:
		return op{verb: forgeTemplate, key: d.template(s), policy: d.policy(s)}
	case 2:
		return op{verb: forgeContent, key: d.template(s), n: d.IntN(4)}
	case 3:
		return op{verb: loseContent, key: d.template(s)}
	}
	return op{verb: replaceTemplate, key: d.template(s), content: d.content()}
}

func (d drawer) gates() op {
	return op{verb: switchGates, gates: propagation.Features{Preemption: d.chance(60), Static: d.chance(35)}}
}

func (d drawer) template(s style) propagation.TemplateKey {
	if s.few {
		return pick(d, []propagation.TemplateKey{nginx, nginx, nginx, settings})
	}
	return pick(d, templates)
}

func (d drawer) policy(s style) propagation.PolicyKey {
	if s.few {
		return pick(d, []propagation.PolicyKey{namespaced("a"), namespaced("a"), namespaced("b"), clusterWide("x")})
	}
	return pick(d, policies)
}

func (d drawer) content() content {
	c := content{image: 1 + d.IntN(3), replicas: pick(d, []int{2, 2, 2, 3, 0}), tier: pick(d, []string{"front", "front", "back"}), refers: d.chance(40)}
	if d.chance(30) {
		c.note = 1 + d.IntN(3)
	}
	return c
}

func (d drawer) putPolicy(s style) op {
	key := d.policy(s)
	spec := policyv1alpha1.PropagationSpec{ResourceSelectors: d.selectors(key, s), Placement: d.placement()}
	if d.chance(50) {
		spec.ActivationPreference = policyv1alpha1.LazyActivation
	}
	if d.chance(60) {
		n := int32(d.IntN(4) - 1) //nolint:gosec // small
		spec.Priority = &n
	}
	if d.chance(30) {
		spec.Preemption = policyv1alpha1.PreemptAlways
	}
	spec.PropagateDeps = d.chance(35)
	if d.chance(8) {
		spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
	}
	switch n := d.IntN(100); {
	case n < 12:
		yes := true
		spec.Suspension = &policyv1alpha1.Suspension{Dispatching: &yes}
	case n < 28:
		spec.Suspension = &policyv1alpha1.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: []string{pick(d, clusters)}}}
	}
	return op{verb: putPolicy, policy: key, spec: spec}
}

func (d drawer) placement() policyv1alpha1.Placement {
	var names []string
	for _, c := range clusters {
		if d.chance(45) {
			names = append(names, c)
		}
	}
	if len(names) == 0 {
		names = []string{pick(d, clusters)}
	}
	return policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: names}}
}

// nobody is the name of no cluster.
const nobody = "m4"

// misspell has some of the policies name a cluster that is not there, beside those that
// they name, or in place of one.
func (d drawer) misspell(h []op) {
	for i := range h {
		a := h[i].spec.Placement.ClusterAffinity
		switch n := d.IntN(100); {
		case a == nil:
		case n < 10:
			a.ClusterNames = append(slices.Clone(a.ClusterNames), nobody)
		case n < 25:
			a.ClusterNames = slices.Clone(a.ClusterNames)
			a.ClusterNames[d.IntN(len(a.ClusterNames))] = nobody
		}
	}
}

func (d drawer) selectors(p propagation.PolicyKey, s style) []policyv1alpha1.ResourceSelector {
	name := func(k propagation.TemplateKey) policyv1alpha1.ResourceSelector {
		return policyv1alpha1.ResourceSelector{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
	}
	kind := func(k propagation.TemplateKey) policyv1alpha1.ResourceSelector {
		return policyv1alpha1.ResourceSelector{APIVersion: k.APIVersion, Kind: k.Kind}
	}
	label := func(tier string) policyv1alpha1.ResourceSelector {
		r := kind(nginx)
		r.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}
		return r
	}
	choices := [][]policyv1alpha1.ResourceSelector{
		{name(nginx)}, {name(nginx)}, {name(nginx)}, {kind(nginx)}, {kind(nginx)}, {label("front")}, {label("front")}, {label("back")},
		{name(nginx), name(settings)}, {name(settings)}, {kind(settings)},
	}
	if !s.few {
		choices = append(choices, []policyv1alpha1.ResourceSelector{name(web)}, []policyv1alpha1.ResourceSelector{name(nginx), name(web)})
		if p.Scope == propagation.Cluster {
			choices = append(choices, []policyv1alpha1.ResourceSelector{kind(viewer)}, []policyv1alpha1.ResourceSelector{name(viewer)}, []policyv1alpha1.ResourceSelector{name(other)})
		}
	}
	return pick(d, choices)
}

// troubles are what befalls the system.
func (d drawer) troubles() []op {
	run := func() op { return op{verb: deliver, n: 1 + d.IntN(40), seed: d.Uint64() | 1} }
	cluster := pick(d, clusters)
	switch d.IntN(6) {
	case 0:
		return []op{{verb: restart}}
	case 1:
		return []op{{verb: flush}}
	case 2:
		return []op{{verb: redisDown}, run(), {verb: redisUp}}
	case 3:
		return []op{{verb: memberDown, cluster: cluster}, run(), {verb: memberUp, cluster: cluster}}
	case 4:
		return []op{{verb: memberDown, cluster: cluster}, run()}
	}
	return []op{{verb: tick}}
}
