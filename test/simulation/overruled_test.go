// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// Where placements' objects are overridden on the way, and what is overridden, and in
// which members, changes: each member has what the last word of the overrides makes of the
// templates.

const (
	putOverruling     verb = "put override of placements"
	dropOverruling    verb = "delete override of placements"
	replaceOverruling verb = "delete, and make anew at once, override of placements"
)

// overruling are the overrides: two without a namespace, and two with one.
var overruling = []propagation.PolicyKey{clusterWide("cro-a"), clusterWide("cro-b"), namespaced("ro-a"), namespaced("ro-b")}

// overruled is the label that these overrides are about: templates never have it.
const overruled = "overruled"

// ruling is what an override of placements says.
type ruling struct {
	placement string // that it is about; empty: any
	namespace string // all of this; else
	object    propagation.TemplateKey
	zone      string // of the members that it is for; empty: all
	value     string // of the label; empty: the members do not get the object
}

func (r ruling) String() string {
	does := "leaves it out"
	if r.value != "" {
		does = "says " + r.value
	}
	about := r.namespace
	if about == "" {
		about = r.object.String()
	}
	return fmt.Sprintf("of %s in zone %q by %q %s", about, r.zone, r.placement, does)
}

func (r ruling) policy() *placementv1.OverridePolicy {
	if r.divides() {
		inside := ruleOf(r.value+inZone, metav1.LabelSelectorOpIn, splitZone)
		return &placementv1.OverridePolicy{OverrideRules: []placementv1.OverrideRule{ruleOf(r.value, metav1.LabelSelectorOpNotIn, splitZone), inside}}
	}
	return &placementv1.OverridePolicy{OverrideRules: []placementv1.OverrideRule{ruleOf(r.value, metav1.LabelSelectorOpIn, r.zone)}}
}

// splitZone is the zone of which some overrides say something else than of the others, by
// another rule; inZone is what they say besides.
const (
	splitZone = "a"
	inZone    = "-inside"
)

// divides tells whether the override has a rule for a zone, and another for the others: it
// then concerns the member in either, and does something else.
func (r ruling) divides() bool { return r.zone == "" && r.value == "two" }

// ruleOf is that of an override for the members in the zone, or not in it; empty: for all.
func ruleOf(value string, op metav1.LabelSelectorOperator, zone string) placementv1.OverrideRule {
	rule := placementv1.OverrideRule{ClusterSelector: &placementv1.ClusterSelector{}, OverrideType: placementv1.DeleteOverrideType}
	if zone != "" {
		rule.ClusterSelector.ClusterSelectorTerms = []placementv1.ClusterSelectorTerm{{LabelSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: zoneKey, Operator: op, Values: []string{zone}}},
		}}}
	}
	if value != "" {
		raw, _ := json.Marshal(value + "-" + placementv1.VariableClusterName) // no string fails
		rule.OverrideType = placementv1.JSONPatchOverrideType
		rule.JSONPatchOverrides = []placementv1.JSONPatchOverride{{Operator: placementv1.JSONPatchOverrideOpAdd, Path: "/metadata/labels/" + overruled, Value: &apiextensionsv1.JSON{Raw: raw}}}
	}
	return rule
}

func (r ruling) ref() *placementv1.PlacementRef {
	if r.placement == "" {
		return nil
	}
	return &placementv1.PlacementRef{Name: r.placement}
}

// overruleWith does what is about overrides of placements. Of which placement one is, nobody
// may change: it is deleted and made anew.
func (w *world) overruleWith(o op) bool {
	was, lives := w.placing.rulings[o.policy]
	if o.verb == replaceOverruling {
		o.ruling = was
	}
	if lives && (o.verb != putOverruling || was.placement != o.ruling.placement) {
		delete(w.placing.rulings, o.policy)
		w.dropOverruling(o.policy)
	}
	if o.verb == dropOverruling || o.verb == replaceOverruling && !lives {
		return lives
	}
	if w.placing.rulings == nil {
		w.placing.rulings = map[propagation.PolicyKey]ruling{}
	}
	w.placing.rulings[o.policy] = o.ruling
	return w.putOverruling(o.policy, o.ruling)
}

func (w *world) dropOverruling(key propagation.PolicyKey) {
	if key.Namespace == "" {
		w.hub.DropClusterOverride(key.Name)
		return
	}
	w.hub.DropNamespaceOverride(types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
}

func (w *world) putOverruling(key propagation.PolicyKey, r ruling) bool {
	if key.Namespace == "" {
		return w.hub.PutClusterOverride(key.Name, placementv1.ClusterResourceOverrideSpec{
			Placement: r.ref(), Policy: r.policy(),
			ClusterResourceSelectors: []placementv1.ClusterResourceSelector{{Version: "v1", Kind: "Namespace", Name: r.namespace}},
		})
	}
	gvk := r.object.GroupVersionKind()
	return w.hub.PutNamespaceOverride(types.NamespacedName{Namespace: key.Namespace, Name: key.Name}, placementv1.ResourceOverrideSpec{
		Placement: r.ref(), Policy: r.policy(),
		ResourceSelectors: []placementv1.ResourceSelector{{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: r.object.Name}},
	})
}

// ruled is what the overrides make of a placement's template in a member; nil: it is not
// to be there.
func (w *world) ruled(placement, cluster string, t *propagation.Template) *propagation.Template {
	says := ""
	for _, key := range slices.SortedFunc(maps.Keys(w.placing.rulings), func(a, b propagation.PolicyKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}) {
		r := w.placing.rulings[key]
		inside := r.namespace != "" && (t.Key.Namespace == r.namespace || t.Key.Kind == "Namespace" && t.Key.Name == r.namespace)
		switch {
		case r.placement != "" && r.placement != placement, r.zone != "" && r.zone != w.hub.LiveLabels(cluster)[zoneKey], !inside && t.Key != r.object:
		case r.value == "":
			return nil
		case r.divides() && w.hub.LiveLabels(cluster)[zoneKey] == splitZone:
			says = r.value + inZone + "-" + cluster
		default:
			says = r.value + "-" + cluster
		}
	}
	if says == "" {
		return t
	}
	next := *t
	next.Object = runtime.DeepCopyJSON(t.Object)
	set(next.Object["metadata"].(map[string]any), "labels", overruled, says)
	return &next
}

// checkOverruled checks that no snapshot outlives its override.
func (w *world) checkOverruled() {
	for key, of := range w.hub.LiveOverrideSnapshots() {
		if _, lives := w.placing.rulings[of]; !lives {
			w.fail("%s outlives its override", key)
		}
	}
}

// lacks tells whether the binding names the snapshot of an override that is gone.
func (w *world) lacks(b *placementv1.ClusterResourceBinding) bool {
	there := w.hub.LiveOverrideSnapshots()
	for _, name := range b.Spec.ClusterResourceOverrideSnapshots {
		if _, is := there[name]; !is {
			return true
		}
	}
	for _, of := range b.Spec.ResourceOverrideSnapshots {
		if _, is := there[of.Namespace+"/"+of.Name]; !is {
			return true
		}
	}
	return false
}

// checkLacking checks that the placement says of each member that lacks an override which
// it was given that it keeps what it has.
func (w *world) checkLacking(p *placementv1.ClusterResourcePlacement) {
	for _, s := range p.Status.PlacementStatuses {
		if b := w.bindingTo(p.Name, s.ClusterName); b == nil || !w.lacks(b) {
			continue
		}
		c := meta.FindStatusCondition(s.Conditions, placementv1.ConditionWorkSynchronized)
		if c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "keeps what it has") {
			w.fail("%s lacks an override that %s was given, and says %+v of it", p.Name, s.ClusterName, c)
		}
	}
}

func (d drawer) overrules() op {
	key := pick(d, overruling)
	switch n := d.IntN(100); {
	case n < 25:
		return op{verb: dropOverruling, policy: key}
	case n < 40:
		return op{verb: replaceOverruling, policy: key}
	}
	r := ruling{placement: pick(d, []string{"", "", "crp-1", "crp-2"}), zone: pick(d, []string{"", "a", "b"}), value: pick(d, []string{"one", "two", "two", ""})}
	if key.Namespace == "" {
		r.namespace = pick(d, []string{"shop", "shop", "other"})
	} else {
		r.object = pick(d, []propagation.TemplateKey{nginx, settings, namesake})
	}
	return op{verb: putOverruling, policy: key, ruling: r}
}

// overruledAbout is the history of a seed with placements and overrides of them.
func overruledAbout(seed int) (climate, []op) {
	c, h := carriedAbout(seed + 1<<20)
	d := newDrawer(uint64(seed) ^ 0x0e500000) //nolint:gosec // a seed
	var out []op
	for _, o := range h {
		if d.chance(25) {
			out = append(out, d.overrules())
		}
		if d.chance(8) {
			out = append(out, op{verb: relabel, cluster: pick(d, clusters), n: d.IntN(len(zones))})
		}
		out = append(out, o)
	}
	last := newDrawer(uint64(seed) ^ 0x0e580000) //nolint:gosec // a seed
	for range last.IntN(3) {                     // after which nothing else has a member's content made anew
		out = append(out, op{verb: rest}, op{verb: relabel, cluster: pick(last, clusters), n: last.IntN(len(zones))})
	}
	return c, out
}

// TestC70HistoriesWithOverridesOfPlacements runs a sixth as many as TestSimulation.
func TestC70HistoriesWithOverridesOfPlacements(t *testing.T) {
	first, last := share(6)
	did := each(t, first, last, overruledAbout)
	if t.Log(fmt.Sprint(did)); t.Failed() || last-first < 20 {
		return
	}
	for _, v := range []verb{putOverruling, dropOverruling, replaceOverruling, relabel} {
		if did[v] == 0 {
			t.Errorf("in none of %d histories anybody did %q", last-first+1, v)
		}
	}
}
