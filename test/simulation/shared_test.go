// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	placementv1 "sluice.dev/apis/placement/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Histories in which one object has several owners: two placements select one namespace,
// policies select what is in it, envelopes carry the same objects, members had objects of
// that name before, and placements are evicted from members.

const (
	plantEqual verb = "plant what the template says"
	evict      verb = "evict placement"
	putBudget  verb = "put disruption budget"
)

// rival is a second placement of the namespace of crp-1. There is none in the other
// histories.
const rival = "crp-3"

// wrapped is an envelope, and inner and innerRole are what it carries: no templates.
var (
	wrapped   = propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "wrapped"}
	inner     = propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "inner"}
	innerRole = propagation.TemplateKey{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "inner"}
)

// brokenKey is the key of an envelope's data that nobody can read.
const brokenKey = "broken"

// wrap makes obj an envelope that carries c, or that nobody can read.
func (c content) wrap(obj map[string]any) {
	set(obj["metadata"].(map[string]any), "annotations", placementv1.AnnotationEnvelopeConfigMap, "true")
	carries := func(key propagation.TemplateKey) string {
		meta := map[string]any{"name": key.Name}
		if key.Namespace != "" {
			meta["namespace"] = key.Namespace
		}
		o := map[string]any{"apiVersion": key.APIVersion, "kind": key.Kind, "metadata": meta}
		c.write(o)
		raw, _ := json.Marshal(o) // no value of it fails
		return string(raw)
	}
	data := map[string]any{"one": carries(inner), "two": carries(innerRole)}
	if c.replicas == 0 {
		data[brokenKey] = "no manifest: ["
	}
	obj["data"] = data
}

// unwrapped are the objects that members get: in place of envelopes what these carry. It
// is not whole where one of them cannot be read.
func unwrapped(all map[string]*propagation.Template) (out map[string]*propagation.Template, whole bool) {
	out, whole = map[string]*propagation.Template{}, true
	for id, t := range all {
		if t.Key.ID() != wrapped.ID() {
			out[id] = t
			continue
		}
		for key, value := range t.Object["data"].(map[string]any) {
			carried := &propagation.Template{Key: map[string]propagation.TemplateKey{"one": inner, "two": innerRole}[key]}
			if err := json.Unmarshal([]byte(value.(string)), &carried.Object); err != nil {
				whole = false
				continue
			}
			out[carried.Key.ID()] = carried
		}
	}
	return out, whole
}

// shares does what only these histories draw.
func (w *world) shares(o op) (changed, known bool) {
	switch o.verb {
	case plantEqual:
		t := w.hub.Live(o.key)
		changed = t != nil && w.members[o.cluster].Plant(o.key, copied(t.Object))
	case evict:
		changed = w.hub.PutEviction(fmt.Sprintf("evict-%d", o.n), o.policy.Name, o.cluster)
	case putBudget:
		changed = w.hub.PutDisruptionBudget(o.policy.Name, budgets[o.n])
	default:
		return false, false
	}
	return changed, true
}

// copied is what people wrote of an object.
func copied(obj map[string]any) map[string]any {
	meta := obj["metadata"].(map[string]any)
	bare := map[string]any{"name": meta["name"]}
	for _, field := range []string{"labels", "annotations"} {
		if m := users(meta, field); m != nil {
			bare[field] = m
		}
	}
	if meta["namespace"] != nil {
		bare["namespace"] = meta["namespace"]
	}
	out := map[string]any{"metadata": bare}
	for k, v := range obj {
		if k != "metadata" && k != "status" {
			out[k] = v
		}
	}
	return out
}

// budgets are what a disruption budget says.
var budgets = []placementv1.PlacementDisruptionBudgetSpec{
	{MinAvailable: new(intstr.FromInt32(1))}, {MinAvailable: new(intstr.FromInt32(2))}, {MinAvailable: new(intstr.FromString("50%"))},
	{MaxUnavailable: new(intstr.FromInt32(0))}, {MaxUnavailable: new(intstr.FromInt32(1))}, {},
}

// sharedAbout is the history of a seed in which objects have several owners.
func sharedAbout(seed int) (climate, []op) {
	c, h := carriedAbout(seed + 1<<23)
	c.shared = true
	d := newDrawer(uint64(seed) ^ 0x54a4e000) //nolint:gosec // a seed
	kinds, evictions := map[string]placementv1.PlacementType{}, 0
	// Where nobody but the placements is there, what they say is checked more closely.
	policies, plants, envelopes := d.chance(70), d.chance(50), d.chance(50)
	var out []op
	for _, o := range h {
		if o.verb == putPlacement {
			o.asked.Strategy.ApplyStrategy = d.taking()
		}
		switch n := d.IntN(100); {
		case n < 15 && policies:
			out = append(out, d.sharedPolicy())
		case n < 20 && policies:
			out = append(out, op{verb: dropPolicy, policy: pick(d, sharers)})
		case n < 35:
			out = append(out, d.rivalOp(kinds))
		case n < 50 && plants:
			out = append(out, op{verb: pick(d, []verb{plantObject, plantEqual}), key: pick(d, shared), cluster: pick(d, clusters), n: d.IntN(3)})
		case n < 60 && plants:
			out = append(out, op{verb: loseObject, key: pick(d, shared), cluster: pick(d, clusters)})
		case n < 72 && envelopes:
			o := op{verb: putTemplate, key: wrapped, content: d.content()}
			o.content.refers = false
			out = append(out, o)
		case n < 75 && envelopes:
			out = append(out, op{verb: dropTemplate, key: wrapped})
		case n < 88:
			out = append(out, d.evicts(&evictions)...)
		}
		out = append(out, o)
	}
	return c, out
}

var (
	shared  = []propagation.TemplateKey{nginx, nginx, settings, namesake, inner}
	sharers = []propagation.PolicyKey{namespaced("a"), clusterWide("x")}
)

// taking is when a placement takes over what members had before.
func (d drawer) taking() *placementv1.ApplyStrategy {
	when := pick(d, []placementv1.WhenToTakeOverType{"", placementv1.WhenToTakeOverTypeAlways, placementv1.WhenToTakeOverTypeIfNoDiff, placementv1.WhenToTakeOverTypeNever})
	if when == "" {
		return nil
	}
	return &placementv1.ApplyStrategy{WhenToTakeOver: when}
}

// rivalOp is what happens to the second placement of the namespace.
func (d drawer) rivalOp(kinds map[string]placementv1.PlacementType) op {
	if d.chance(25) {
		return op{verb: dropPlacement, policy: clusterWide(rival)}
	}
	o := d.placementOf(rival, kinds)
	o.asked.Strategy.ApplyStrategy = d.taking()
	return o
}

// sharedPolicy is a policy of what placements have, too.
func (d drawer) sharedPolicy() op {
	key := pick(d, sharers)
	of := pick(d, []propagation.TemplateKey{nginx, nginx, settings, namesake, wrapped, other})
	if key.Namespace != "" && of == other {
		of = nginx
	}
	s := policyv1alpha1.ResourceSelector{APIVersion: of.APIVersion, Kind: of.Kind, Namespace: of.Namespace, Name: of.Name}
	if d.chance(30) {
		s.Name = ""
	}
	spec := policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{s}, Placement: d.placement()}
	if d.chance(20) {
		spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
	}
	return op{verb: putPolicy, policy: key, spec: spec}
}

// evicts has somebody evict a placement from a member, which is mostly tainted first.
func (d drawer) evicts(count *int) []op {
	p, cluster := clusterWide(pick(d, []string{"crp-1", "crp-1", "crp-2", rival, "no-such"})), pick(d, clusters)
	var out []op
	if d.chance(40) {
		out = append(out, op{verb: putBudget, policy: p, n: d.IntN(len(budgets))})
	}
	if d.chance(70) {
		out = append(out, op{verb: taint, cluster: cluster, n: 2})
	}
	*count++
	return append(out, op{verb: evict, policy: p, cluster: cluster, n: *count})
}

// TestC75Y9HistoriesWhereObjectsHaveSeveralOwners runs a sixth as many as TestSimulation,
// and at most fifty.
func TestC75Y9HistoriesWhereObjectsHaveSeveralOwners(t *testing.T) {
	first, last := fewSeeds()
	did := each(t, first, last, sharedAbout)
	if t.Log(fmt.Sprint(did)); t.Failed() || last-first < 20 {
		return
	}
	for _, v := range slices.Concat([]verb{plantEqual, evict, putBudget}, came) {
		if did[v] == 0 {
			t.Errorf("in none of %d histories %q", last-first+1, v)
		}
	}
}
