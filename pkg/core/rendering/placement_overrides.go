// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	placementv1 "sluice.dev/apis/placement/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// overridden is the object as the member gets it, and its JSON; nil: the member
// does not get it. Cluster overrides come first. What nothing overrides is raw,
// byte for byte.
func (in Placed) overridden(obj map[string]any, raw json.RawMessage) (map[string]any, json.RawMessage, error) {
	touched := false
	for _, r := range in.rulesFor(obj) {
		if !RuleConcerns(r.rule, in.Labels) {
			continue
		}
		if r.rule.OverrideType == placementv1.DeleteOverrideType {
			return nil, nil, nil
		}
		next, _ := clone(obj).(map[string]any)
		for _, p := range r.rule.JSONPatchOverrides {
			changed, err := in.patch(next, p)
			if err != nil {
				return nil, nil, in.failed(r.override, obj, p.Path, err)
			}
			next = changed
		}
		if err := sameObject(propagation.KeyOf(obj), next); err != nil {
			return nil, nil, in.failed(r.override, obj, "", err)
		}
		obj, touched = next, true
	}
	if !touched {
		return obj, raw, nil
	}
	raw, err := json.Marshal(obj)
	return obj, raw, err
}

func (in Placed) failed(override string, obj map[string]any, path string, err error) error {
	about := text(obj["kind"]) + " " + strings.TrimPrefix(text(child(obj, "metadata")["namespace"])+"/"+text(child(obj, "metadata")["name"]), "/")
	if path != "" {
		about += ": path " + path
	}
	return &PlacementError{placementv1.ReasonOverriddenFailed, fmt.Sprintf("Failed to apply the override %s to %s: %s", override, about, err)}
}

// placedRule is a rule of a placement's override.
type placedRule struct {
	override string
	rule     placementv1.OverrideRule
}

// rulesFor are the rules whose overrides select the object, in their order. A
// cluster override that selects a Namespace concerns all that is in it.
func (in Placed) rulesFor(obj map[string]any) []placedRule {
	meta := child(obj, "metadata")
	name, namespace, kind := text(meta["name"]), text(meta["namespace"]), text(obj["kind"])
	var out []placedRule
	for _, o := range in.ClusterOverrides {
		for _, s := range o.Spec.OverrideSpec.ClusterResourceSelectors {
			itself := namespace == "" && s.Group == group(obj) && s.Kind == kind && s.Name == name
			inside := namespace != "" && s.Group == "" && s.Kind == "Namespace" && s.Name == namespace
			if itself || inside {
				out = append(out, placedRules(o.Name, o.Spec.OverrideSpec.Policy)...)
				break
			}
		}
	}
	for _, o := range in.Overrides {
		for _, s := range o.Spec.OverrideSpec.ResourceSelectors {
			if o.Namespace == namespace && s.Group == group(obj) && s.Kind == kind && s.Name == name {
				out = append(out, placedRules(o.Namespace+"/"+o.Name, o.Spec.OverrideSpec.Policy)...)
				break
			}
		}
	}
	return out
}

func placedRules(override string, p *placementv1.OverridePolicy) (out []placedRule) {
	for _, r := range rulesOf(p) {
		out = append(out, placedRule{override, r})
	}
	return out
}

// patch does one operation of JSON patch, its variables filled in.
func (in Placed) patch(obj map[string]any, p placementv1.JSONPatchOverride) (map[string]any, error) {
	op := map[placementv1.JSONPatchOverrideOperator]policyv1alpha1.OverriderOperator{
		placementv1.JSONPatchOverrideOpAdd:     policyv1alpha1.OverriderOpAdd,
		placementv1.JSONPatchOverrideOpRemove:  policyv1alpha1.OverriderOpRemove,
		placementv1.JSONPatchOverrideOpReplace: policyv1alpha1.OverriderOpReplace,
	}[p.Operator]
	var value apiextensionsv1.JSON
	if p.Value != nil {
		filled, err := in.fill(string(p.Value.Raw))
		if err != nil {
			return nil, err
		}
		value.Raw = []byte(filled)
	}
	next, err := editAt(obj, p.Path, op, value)
	if err != nil {
		return nil, err
	}
	whole, ok := next.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the object would be none any more")
	}
	return whole, nil
}

// RuleConcerns tells whether an override's rule is for a member with these labels.
// Without a selector it is for none, with one without terms for all.
func RuleConcerns(r placementv1.OverrideRule, of map[string]string) bool {
	if r.ClusterSelector == nil {
		return false
	}
	for _, t := range r.ClusterSelector.ClusterSelectorTerms {
		s, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		if err == nil && t.LabelSelector != nil && s.Matches(labels.Set(of)) {
			return true
		}
	}
	return len(r.ClusterSelector.ClusterSelectorTerms) == 0
}

// KeysSeen are the keys of the labels of a member that the overrides look at, by which
// their rules select members, or which their variables name; in order.
func (in Placed) KeysSeen() []string {
	var rules []placementv1.OverrideRule
	for _, o := range in.ClusterOverrides {
		rules = append(rules, rulesOf(o.Spec.OverrideSpec.Policy)...)
	}
	for _, o := range in.Overrides {
		rules = append(rules, rulesOf(o.Spec.OverrideSpec.Policy)...)
	}
	return KeysSeen(rules, in.Binding.Spec.TargetCluster)
}

func rulesOf(p *placementv1.OverridePolicy) []placementv1.OverrideRule {
	if p == nil {
		return nil
	}
	return p.OverrideRules
}

// KeysSeen are the keys of the labels of a member that the rules look at; in order.
func KeysSeen(rules []placementv1.OverrideRule, cluster string) (keys []string) {
	for _, r := range rules {
		if r.ClusterSelector != nil {
			for _, t := range r.ClusterSelector.ClusterSelectorTerms {
				keys = append(keys, keysOf(t.LabelSelector)...)
			}
		}
		for _, p := range r.JSONPatchOverrides {
			if p.Value == nil {
				continue
			}
			for v := variableIn(named(string(p.Value.Raw), cluster)); v.closed; v = variableIn(v.after) {
				keys = append(keys, v.key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// keysOf are the keys that a selector asks for.
func keysOf(s *metav1.LabelSelector) (keys []string) {
	if s == nil {
		return nil
	}
	for key := range s.MatchLabels {
		keys = append(keys, key)
	}
	for _, e := range s.MatchExpressions {
		keys = append(keys, e.Key)
	}
	return keys
}

// named puts the member's name into the places of its variable.
func named(value, cluster string) string {
	return strings.ReplaceAll(value, placementv1.VariableClusterName, quoted(cluster))
}

// variable is the first one for a member's label in a text.
type variable struct {
	before, key, after string
	// found: it begins; closed: it ends, too.
	found, closed bool
}

func variableIn(text string) (v variable) {
	var rest string
	if v.before, rest, v.found = strings.Cut(text, placementv1.VariableClusterLabelPrefix); v.found {
		v.key, v.after, v.closed = strings.Cut(rest, "}")
	}
	return v
}

// fill puts the member's name and labels into the places of the variables.
func (in Placed) fill(value string) (string, error) {
	value = named(value, in.Binding.Spec.TargetCluster)
	for {
		v := variableIn(value)
		switch {
		case !v.found:
			return value, nil
		case !v.closed:
			return "", fmt.Errorf("the variable %s… has no end", placementv1.VariableClusterLabelPrefix)
		}
		label, ok := in.Labels[v.key]
		if !ok {
			return "", fmt.Errorf("the member %s has no label %s", in.Binding.Spec.TargetCluster, v.key)
		}
		value = v.before + quoted(label) + v.after
	}
}

// quoted is a string as it stands between the quotes of a JSON string.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return string(b[1 : len(b)-1])
}
