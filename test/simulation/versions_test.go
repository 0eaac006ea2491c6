// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// A kind of two versions, of which the hub stops to serve one while policies select by
// it, and serves it again.
const (
	stopVersion  verb = "serve no more version"
	serveVersion verb = "serve again version"
)

// gear is of that kind, and gearVersions are its versions, the preferred one first.
var (
	gear         = propagation.TemplateKey{APIVersion: gearVersions[0], Kind: "Gear", Namespace: "shop", Name: "gear"}
	gearVersions = []string{"example.com/v1", "example.com/v1beta1"}
)

// isGear tells whether the key is of the kind.
func isGear(k propagation.TemplateKey) bool {
	return k.GroupVersionKind().GroupKind() == gear.GroupVersionKind().GroupKind()
}

// gears is how the hub serves them.
type gears struct {
	w *world
	// watched is the version in which their source watches them.
	watched string
	not     map[string]bool
}

func (g *gears) begin(w *world) {
	*g = gears{w: w, watched: gearVersions[0], not: map[string]bool{}}
	if w.versioned {
		g.tellHub()
	}
}

// all are the versions that are served, the preferred one first.
func (g *gears) all() []string {
	return slices.DeleteFunc(slices.Clone(gearVersions), func(v string) bool { return g.not[v] })
}

func (g *gears) served() string { return strings.Join(g.all(), "+") }

func (g *gears) serves(apiVersion string) bool { return slices.Contains(g.all(), apiVersion) }

func (g *gears) tellHub() {
	var names []string
	for _, v := range g.all() {
		_, name, _ := strings.Cut(v, "/")
		names = append(names, name)
	}
	g.w.hub.Serve(gear.GroupVersionKind().GroupKind(), names...)
}

// told is the key by which the source tells of a template.
func (g *gears) told(k propagation.TemplateKey) propagation.TemplateKey {
	if isGear(k) {
		k.APIVersion = g.watched
	}
	return k
}

// known is the template as it is read and, if there is a binding, as that knows it.
func (g *gears) known(t *propagation.Template, b *propagation.Binding) *propagation.Template {
	if t == nil || !isGear(t.Key) {
		return t
	}
	version := t.Key.APIVersion
	if b != nil {
		version = b.Spec.Resource.APIVersion
	}
	if !g.serves(version) {
		version = g.all()[0]
	}
	read := *t.As(version)
	read.Key.APIVersion = version
	return read.KnownTo(b)
}

// reversion stops to serve a version, or serves it again, and tells whether that changed
// anything. Where that version was watched, the watch ends, and another begins anew.
func (w *world) reversion(o op) (changed, known bool) {
	if o.verb != stopVersion && o.verb != serveVersion {
		return false, false
	}
	g, version, stops := &w.gears, gearVersions[o.n], o.verb == stopVersion
	if g.not[version] == stops || stops && len(g.all()) == 1 {
		return false, true
	}
	g.not[version] = stops
	g.tellHub()
	w.did[o.verb]++
	if !g.serves(g.watched) {
		g.watched = g.all()[0]
		for _, t := range w.hub.LiveTemplates() {
			if isGear(t.Key) && w.watches(t.Key) {
				w.announce(hub.Change{Type: hub.Added, Key: t.Key, Version: t.ResourceVersion})
			}
		}
	}
	return true, true
}

// What the model says of versions: a selector selects whatever version a template is
// read in, where its own is served; and else what is known by just that version.

// versionsOf are those that a template may be read in.
func versionsOf(k propagation.TemplateKey) []string {
	if isGear(k) {
		return gearVersions
	}
	return []string{k.APIVersion}
}

// names tells whether a selector of the version selects templates of t's kind.
func (r rule) names(apiVersion string, t thing) bool {
	if !isGear(t.key) {
		return apiVersion == t.key.APIVersion
	}
	return r.offers(apiVersion) || slices.Contains(gearVersions, apiVersion) && apiVersion == t.known
}

// knows is t as it is known in the state: by the version that its binding names or, where
// it has none, by the one in which a Lazy policy found what it waits with.
func (s state) knows(t thing) thing {
	before, _, _ := strings.Cut(s.wait, "@")
	if t.known = s.version; t.known == "" && before == t.hash {
		t.known = s.as
	}
	return t
}

// foundAs is the version in which the template's baseline is.
func (w *world) foundAs(t *propagation.Template) string {
	known, ok := w.safety.contents.byHash[t.Baseline.Hash()]
	if !ok || !isGear(t.Key) {
		return ""
	}
	return fmt.Sprint(known.object["apiVersion"])
}

func (r rule) offers(apiVersion string) bool {
	return slices.Contains(strings.Split(r.served, "+"), apiVersion)
}

// reads is the version by which a template is known where r holds it: its binding's or,
// without one, that in which r found what waits, or the first that r names and is served.
func (r rule) reads(t thing, b bound) string {
	if !isGear(t.key) || b.version != "" {
		return b.version
	}
	for _, s := range r.Spec.ResourceSelectors {
		if s.Kind == t.key.Kind && s.APIVersion == t.known {
			return t.known
		}
	}
	for _, s := range r.Spec.ResourceSelectors {
		if s.Kind == t.key.Kind && r.offers(s.APIVersion) {
			return s.APIVersion
		}
	}
	return ""
}

// reversioned tells whether the hub ever served other versions since the policy is there.
func (r rule) reversioned() bool {
	return slices.ContainsFunc(r.forms, func(f formSince) bool { return f.served != r.served })
}

// named is the version by which a binding names its template, if that has several.
func named(b *propagation.Binding) string {
	if !isGear(b.Template()) {
		return ""
	}
	return b.Spec.Resource.APIVersion
}

// groupOf is the group of an object.
func groupOf(obj map[string]any) string {
	group, _, grouped := strings.Cut(fmt.Sprint(obj["apiVersion"]), "/")
	if !grouped {
		return ""
	}
	return group
}

// resolved are the policies as they are, with what they name that is not served.
func (w *world) resolved() []*propagation.Policy {
	all, err := w.hub.Policies(w.ctx)
	if err != nil {
		w.fail("list policies: %v", err)
	}
	return all
}

// versioned is the history of a seed about gears.
func versioned(seed int) (climate, []op) {
	d := newDrawer(uint64(seed) ^ 0x9ea50000) //nolint:gosec // a seed
	c, h := d.climate(), d.history()
	c.versioned = true
	for i := range h {
		if h[i].key == nginx {
			h[i].key = gear
		}
		h[i].spec.ResourceSelectors = d.select2(h[i].spec.ResourceSelectors)
	}
	for range 2 + d.IntN(6) {
		at := d.IntN(len(h) + 1)
		h = slices.Insert(h, at, d.reversions(h[:at])...)
	}
	return c, h
}

// select2 are the selectors with gears in place of Deployments, in one version or both.
func (d drawer) select2(all []policyv1alpha1.ResourceSelector) (out []policyv1alpha1.ResourceSelector) {
	for _, s := range all {
		if s.Kind != nginx.Kind || s.Name != "" && (s.Name != nginx.Name || s.Namespace != nginx.Namespace) {
			out = append(out, s)
			continue
		}
		s.Kind = gear.Kind
		if s.Name != "" {
			s.Name = gear.Name
		}
		first := d.IntN(2)
		s.APIVersion = gearVersions[first]
		if out = append(out, s); d.chance(15) {
			s.APIVersion = gearVersions[1-first]
			out = append(out, s)
		}
	}
	return out
}

// reversions are what happens to versions, after what was before: one is served no more,
// or again, or a policy's selectors are mended to name the other.
func (d drawer) reversions(before []op) []op {
	switch n := d.IntN(100); {
	case n < 50:
		return []op{{verb: stopVersion, n: d.IntN(2)}}
	case n < 75:
		return []op{{verb: serveVersion, n: d.IntN(2)}}
	}
	before = slices.DeleteFunc(slices.Clone(before), func(o op) bool { return o.verb != putPolicy })
	if len(before) == 0 {
		return nil
	}
	o := before[len(before)-1]
	o.spec.ResourceSelectors = slices.Clone(o.spec.ResourceSelectors)
	for i, s := range o.spec.ResourceSelectors {
		if at := slices.Index(gearVersions, s.APIVersion); at >= 0 {
			o.spec.ResourceSelectors[i].APIVersion = gearVersions[1-at]
		}
	}
	return []op{o}
}

// What histories with versions found: a Lazy policy that names both versions waits on,
// whichever of them the hub begins or ceases to serve; and one whose selector is mended to
// name the other version.
func TestZ14NoGateOpensForAnotherVersion(t *testing.T) {
	naming := func(versions ...int) func(*policyv1alpha1.PropagationSpec) {
		return func(s *policyv1alpha1.PropagationSpec) {
			s.ResourceSelectors = nil
			for _, v := range versions {
				s.ResourceSelectors = append(s.ResourceSelectors, policyv1alpha1.ResourceSelector{APIVersion: gearVersions[v], Kind: gear.Kind, Name: gear.Name})
			}
		}
	}
	waits := []op{{verb: putTemplate, key: gear, content: content{image: 1, tier: "front"}}, said(namespaced("a"), "m1", lazily, naming(1, 0)), {verb: rest}}
	for name, history := range map[string][]op{
		"served again":   append(append([]op{{verb: stopVersion, n: 1}}, waits...), op{verb: serveVersion, n: 1}),
		"served no more": append(slices.Clone(waits), op{verb: stopVersion, n: 1}),
		"mended": {
			{verb: putTemplate, key: gear, content: content{image: 1, tier: "front"}},
			said(namespaced("a"), "m1", lazily, naming(1)), {verb: rest}, {verb: stopVersion, n: 1}, said(namespaced("a"), "m1", lazily, naming(0)),
		},
	} {
		for climate, c := range map[string]climate{"one process": {lag: true, lanes: true, follow: true, flights: 1, versioned: true}, "many": {keeps: true, flights: 1, versioned: true}} {
			t.Run(name+", "+climate, func(t *testing.T) {
				w := newLab(t).start(c)
				if err := w.run(history); err != nil {
					t.Fatal(err)
				}
				if o := w.members["m1"].Object(gear); o != nil {
					t.Errorf("m1 has %s", o.Ref)
				}
			})
		}
	}
}

// TestZ14HistoriesWithVersions runs a third as many histories as TestSimulation.
func TestZ14HistoriesWithVersions(t *testing.T) {
	first, last := share(3)
	did := each(t, first, last, versioned)
	if t.Log(did); t.Failed() || last-first < 50 {
		return
	}
	for _, v := range []verb{stopVersion, serveVersion} {
		if did[v] == 0 {
			t.Errorf("in none of %d histories anybody did %q", last-first+1, v)
		}
	}
}
