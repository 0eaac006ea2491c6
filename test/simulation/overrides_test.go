// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// overridden is the annotation that overrides are about: templates never have it.
const overridden = "override.example.com/says"

const (
	putOverride  verb = "put override"
	dropOverride verb = "delete override"
)

var overrides = []propagation.PolicyKey{namespaced("over-a"), namespaced("over-b"), clusterWide("over-x")}

// over is what an override says.
type over struct {
	selectors []policyv1alpha1.ResourceSelector
	rules     []overRule
	// former: in the form that is deprecated, of the first rule alone.
	former bool
}

// overRule is what an override does to the annotation in some clusters; none named: in
// all.
type overRule struct {
	clusters []string
	operator policyv1alpha1.OverriderOperator
	value    string
}

func (r overRule) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", r.operator, r.value, strings.Join(r.clusters, "+")))
}

func (r overRule) target() *policyv1alpha1.ClusterAffinity {
	if len(r.clusters) == 0 {
		return nil
	}
	return &policyv1alpha1.ClusterAffinity{ClusterNames: r.clusters}
}

func (r overRule) overriders() policyv1alpha1.Overriders {
	return policyv1alpha1.Overriders{AnnotationsOverrider: []policyv1alpha1.LabelAnnotationOverrider{{Operator: r.operator, Value: map[string]string{overridden: r.value}}}}
}

// spec is how the API says it.
func (o over) spec() policyv1alpha1.OverrideSpec {
	s := policyv1alpha1.OverrideSpec{ResourceSelectors: o.selectors}
	if o.former {
		s.TargetCluster, s.Overriders = o.rules[0].target(), o.rules[0].overriders()
		return s
	}
	for _, r := range o.rules {
		s.OverrideRules = append(s.OverrideRules, policyv1alpha1.RuleWithCluster{TargetCluster: r.target(), Overriders: r.overriders()})
	}
	return s
}

func (o over) describe() string {
	selects := "everything"
	if len(o.selectors) > 0 {
		selects = selected(&policyv1alpha1.PropagationSpec{ResourceSelectors: o.selectors})
	}
	rules := o.rules
	if o.former {
		rules = rules[:1]
	}
	return fmt.Sprintf("selects %s, %v", selects, rules)
}

func (d drawer) overrule() []op {
	key := pick(d, overrides)
	if d.chance(25) {
		return []op{{verb: dropOverride, policy: key}}
	}
	o := over{former: d.chance(25)}
	kind := policyv1alpha1.ResourceSelector{APIVersion: nginx.APIVersion, Kind: nginx.Kind}
	if d.chance(75) {
		o.selectors = pick(d, [][]policyv1alpha1.ResourceSelector{{kind}, d.selectors(key, style{few: true})})
	}
	for range 1 + d.IntN(2) {
		r := overRule{operator: pick(d, []policyv1alpha1.OverriderOperator{
			policyv1alpha1.OverriderOpAdd, policyv1alpha1.OverriderOpAdd, policyv1alpha1.OverriderOpReplace, policyv1alpha1.OverriderOpRemove,
		}), value: pick(d, []string{"one", "two"})}
		if d.chance(50) {
			r.clusters = d.placement().ClusterAffinity.ClusterNames
		}
		o.rules = append(o.rules, r)
	}
	return []op{{verb: putOverride, policy: key, over: o}}
}

func (w *world) override(o op) bool {
	if o.verb == dropOverride {
		return w.hub.DropOverride(o.policy)
	}
	if !slices.Contains(w.overrides, o.policy) {
		w.overrides = append(w.overrides, o.policy)
	}
	return w.hub.PutOverride(propagation.Override{Key: o.policy, Spec: o.over.spec()})
}

// says is what overrides have the binding's content say in a cluster, told from the
// acceptance lines: those of the cluster before those of the namespace, the wider
// before the narrower, then by name, and the last has the last word.
func (w *world) says(b *propagation.Binding, cluster string) string {
	content := w.safety.contents.byHash[b.ActedHash()].object
	t := thing{key: b.Template(), labels: map[string]string{}}
	if meta, ok := content["metadata"].(map[string]any); ok {
		for k, v := range users(meta, "labels") {
			t.labels[k], _ = v.(string)
		}
	}
	var all []match
	specs := map[propagation.PolicyKey]policyv1alpha1.OverrideSpec{}
	for _, o := range w.hub.LiveOverrides() {
		specs[o.Key] = o.Spec
		r := rule{Policy: &propagation.Policy{Key: o.Key, Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: o.Spec.ResourceSelectors}}}
		if len(o.Spec.ResourceSelectors) > 0 {
			if m, ok := r.matches(t); ok {
				all = append(all, m)
			}
		} else if o.Key.Scope == propagation.Cluster || o.Key.Namespace == t.key.Namespace {
			all = append(all, match{rule: r})
		}
	}
	slices.SortFunc(all, func(a, b match) int {
		return cmp.Or(strings.Compare(string(a.Key.Scope), string(b.Key.Scope)), a.narrow-b.narrow, strings.Compare(a.Key.Name, b.Key.Name))
	})
	says := ""
	for _, m := range all {
		says = overrule(specs[m.Key], cluster, says)
	}
	return says
}

// overrule is what an override makes of an annotation in a cluster; empty: none.
func overrule(spec policyv1alpha1.OverrideSpec, cluster, says string) string {
	rules := spec.OverrideRules
	if len(rules) == 0 {
		rules = []policyv1alpha1.RuleWithCluster{{TargetCluster: spec.TargetCluster, Overriders: spec.Overriders}}
	}
	for _, r := range rules {
		if r.TargetCluster != nil && !slices.Contains(r.TargetCluster.ClusterNames, cluster) {
			continue
		}
		for _, a := range r.Overriders.AnnotationsOverrider {
			value := a.Value[overridden]
			switch {
			case a.Operator == policyv1alpha1.OverriderOpAdd, a.Operator == policyv1alpha1.OverriderOpReplace && says != "":
				says = value
			case a.Operator == policyv1alpha1.OverriderOpRemove && says == value:
				says = ""
			}
		}
	}
	return says
}

// saysOf is what an object says.
func saysOf(obj map[string]any) string {
	meta, _ := obj["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	says, _ := annotations[overridden].(string)
	return says
}
