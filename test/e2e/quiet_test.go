// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// canary is a ConfigMap of the scenario that an own policy places. When it has
// gone from the hub into a member, so must have whatever was done before it.
const canary = "canary"

// Unchanged does something that must not change the propagation of any template
// of the scenario: it fails on each write to a Work and to a member's object,
// and on a binding whose spec is another one afterwards.
func (s *scenario) Unchanged(do func()) {
	s.Helper()
	s.canary()
	s.Rest()
	mark, before := s.mark(), s.bindingSpecs()
	do()
	s.Settle()
	for _, c := range s.writesSince(mark) {
		s.Errorf("a write that must not be: %s", c)
	}
	after := s.bindingSpecs()
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if was, ok := before[key]; !ok {
			s.Errorf("%s was made, and must not be", key)
		} else if !equality.Semantic.DeepEqual(was, after[key]) {
			s.Errorf("the spec of %s changed, and must not:\n%s\n%s", key, asJSON(was), asJSON(after[key]))
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			s.Errorf("%s was deleted, and must not be", key)
		}
	}
}

// Settle waits until what was done has had its effects, if it has any: until a canary
// that was sent after it has arrived, and a sweep has gone by that may have had others.
func (s *scenario) Settle() {
	s.Helper()
	s.canary()
	pause(s.Context(), sweep)
}

// tick is the pause between two sweeps of the playground's pipeline.
const tick = 2 * time.Second

// sweep is how long it takes until one has begun and gone by.
const sweep = tick + quiet/2

// canary sends one and waits until it has arrived.
func (s *scenario) canary() {
	s.Helper()
	c := s.ConfigMap(canary).At(s.refreshes.Add(1))
	s.Apply(s.NamespacedPolicy(canary).Selecting(c).To(s.alive()), c)
	s.Expect(c).At(s.refreshes.Load(), s.alive())
}

// alive is a member that is never stopped.
func (s *scenario) alive() string { return members[0] }

// Rest waits until the scenario is at rest: the members' Deployments are
// available, their statuses are on the hub, and for a moment nobody has written
// anything.
func (s *scenario) Rest() {
	s.Helper()
	s.Eventually(s.available)
	_ = s.within(30*time.Second, s.reported) // whether it is, is for another test
	s.Eventually(func() error {
		if d := time.Since(s.lastWrite()); d < quiet/2 {
			return fmt.Errorf("the scenario does not come to rest: last write %s ago", d)
		}
		for _, m := range s.mirrors() {
			if m.resource != works && !s.uses(m.resource) {
				continue
			}
			if err := m.lag(s.Context(), s.ns); err != nil {
				return err
			}
		}
		return nil
	})
}

// available asks whether all Deployments in members are.
func (s *scenario) available() error {
	for _, m := range members {
		for _, d := range s.lab.clusters[m].mirror(deployments).of(s.ns) {
			if a, w := number(d.Object, "status.availableReplicas"), number(d.Object, "spec.replicas"); a != w ||
				number(d.Object, "status.observedGeneration") != d.GetGeneration() {
				return fmt.Errorf("%s in %s has %d of %d replicas available", d.GetName(), m, a, w)
			}
		}
	}
	return nil
}

// reported asks whether the Works know all that they tell of the Deployments' statuses:
// on Knative the last of what changes there within a second arrives a second later.
func (s *scenario) reported() error {
	for _, w := range s.lab.hub.mirror(works).of(s.ns) {
		m := manifestOf(w)
		member := strings.TrimPrefix(w.GetNamespace(), "karmada-es-")
		if m.GetKind() != deployments.kind || s.lab.clusters[member] == nil {
			continue
		}
		d := s.lab.clusters[member].mirror(deployments).get(keyOf(m))
		if d == nil {
			continue
		}
		for _, st := range items(w.Object, "status.manifestStatuses") {
			if told(st, d) {
				d = nil
			}
		}
		if d != nil {
			return fmt.Errorf("Work %s does not know the status of its Deployment", keyOf(w))
		}
	}
	return nil
}

// told is whether a Work's word on a Deployment is what the Deployment says now.
func told(manifest map[string]any, d *unstructured.Unstructured) bool {
	status, _, _ := unstructured.NestedMap(manifest, "status")
	now, _, _ := unstructured.NestedMap(d.Object, "status")
	if now != nil {
		now["generation"] = d.GetGeneration() // which a Work tells beside it
	}
	for field, value := range status {
		if !equality.Semantic.DeepEqual(value, now[field]) {
			return false
		}
	}
	return len(status) > 0 && text(manifest, "health") == "Healthy"
}

// mirrors that tell of the propagation: the Works, and all that members have.
func (s *scenario) mirrors() []*mirror {
	all := []*mirror{s.lab.hub.mirror(works)}
	for _, m := range members {
		for _, mm := range s.lab.clusters[m].all() {
			if mm.resource != namespaces {
				all = append(all, mm)
			}
		}
	}
	return all
}

func (s *scenario) lastWrite() time.Time {
	last := time.Time{}
	for _, m := range s.mirrors() {
		if h := m.since(s.ns, 0); len(h) > 0 && h[len(h)-1].at.After(last) {
			last = h[len(h)-1].at
		}
	}
	return last
}

// mark remembers how many writes each mirror has told of.
func (s *scenario) mark() map[*mirror]int {
	at := map[*mirror]int{}
	for _, m := range s.mirrors() {
		at[m] = len(m.since(s.ns, 0))
	}
	return at
}

// writesSince are the writes to Works and members' objects after the mark,
// without the canary's. What is there of a kind that another scenario asks for in the
// meantime is none.
func (s *scenario) writesSince(mark map[*mirror]int) []change {
	var out []change
	for _, m := range s.mirrors() {
		for _, c := range m.since(s.ns, mark[m]) {
			if !c.first && !c.ofCanary() && !c.ownStatus() && !c.byCluster() {
				out = append(out, c)
			}
		}
	}
	return out
}

func (c change) ofCanary() bool {
	o := c.after
	if o.GetKind() == works.kind {
		o = manifestOf(o)
	}
	return o.GetName() == canary
}

// byCluster tells of what each cluster makes in each namespace.
func (c change) byCluster() bool {
	o := c.after
	return c.cluster != "hub" && (o.GetName() == "kube-root-ca.crt" || o.GetKind() == accounts.kind && o.GetName() == "default")
}

// ownStatus tells of a member's own report on an object: nobody but its status
// changed.
func (c change) ownStatus() bool {
	return c.cluster != "hub" && c.before != nil && c.kind == watch.Modified &&
		equality.Semantic.DeepEqual(withoutStatus(c.before), withoutStatus(c.after))
}

func withoutStatus(o *unstructured.Unstructured) map[string]any {
	obj := runtime.DeepCopyJSON(o.Object)
	delete(obj, "status")
	for _, path := range [][]string{{"metadata", "resourceVersion"}, {"metadata", "managedFields"}, {"metadata", "annotations", "deployment.kubernetes.io/revision"}} {
		unstructured.RemoveNestedField(obj, path...)
	}
	if a, ok := at(obj, "metadata.annotations").(map[string]any); ok && len(a) == 0 {
		unstructured.RemoveNestedField(obj, "metadata", "annotations")
	}
	return obj
}

func (c change) String() string {
	o := c.after
	what := fmt.Sprintf("%s %s %s in %s", c.kind, o.GetKind(), keyOf(o), c.cluster)
	if c.before == nil || c.kind != watch.Modified {
		return what
	}
	return what + ": " + difference(c.before.Object, o.Object, "")
}

// difference names the fields that differ, with both values.
func difference(a, b map[string]any, path string) string {
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if equality.Semantic.DeepEqual(a[k], b[k]) || k == "managedFields" || k == "resourceVersion" {
			continue
		}
		am, aok := a[k].(map[string]any)
		bm, bok := b[k].(map[string]any)
		if aok && bok {
			out = append(out, difference(am, bm, path+"."+k))
			continue
		}
		out = append(out, fmt.Sprintf("%s.%s: %.300s -> %.300s", path, k, asJSON(a[k]), asJSON(b[k])))
	}
	return strings.Join(out, "; ")
}

// bindingSpecs are the specs of the scenario's bindings without the canary's.
func (s *scenario) bindingSpecs() map[string]any {
	specs := map[string]any{}
	for _, r := range []resource{bindings, clusterBindings} {
		m := s.lab.hub.mirror(r)
		m.mu.Lock()
		for _, b := range m.objects {
			ref, _ := at(b.Object, "spec.resource").(map[string]any)
			if ref["name"] != canary && (b.GetNamespace() == s.ns || strings.HasSuffix(text(ref, "name"), "-"+s.ns)) {
				spec := runtime.DeepCopyJSON(b.Object)["spec"].(map[string]any)
				unstructured.RemoveNestedField(spec, "resource", "resourceVersion")
				specs[r.kind+" "+keyOf(b)] = spec
			}
		}
		m.mu.Unlock()
	}
	return specs
}
