// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling/affinity"
)

// OverrideError says which override cannot be applied, and where.
type OverrideError struct {
	Override propagation.PolicyKey
	// Path in the object; empty: not about one place.
	Path string
	Err  error
}

// Error names the override, the path and the cause.
func (e *OverrideError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("override %s: %s", e.Override, e.Err)
	}
	return fmt.Sprintf("override %s: path %s: %s", e.Override, e.Path, e.Err)
}

// Unwrap is the cause.
func (e *OverrideError) Unwrap() error { return e.Err }

// Selects tells whether the override selects the template, whatever the
// cluster. Without selectors it selects all that its scope allows.
func Selects(o propagation.Override, template propagation.TemplateKey, labels map[string]string) bool {
	_, ok := specificity(o, template, labels)
	return ok
}

// specificity is the implicit priority: how narrowly the override selects.
func specificity(o propagation.Override, template propagation.TemplateKey, labels map[string]string) (matching.Specificity, bool) {
	if len(o.Spec.ResourceSelectors) == 0 {
		return 0, o.Key.Scope == propagation.Cluster || o.Key.Namespace == template.Namespace
	}
	// A policy with the same selectors selects the same, except that an override stays in
	// force if the hub ceases to serve the version that it names: it claims nothing, and
	// nobody took it back.
	p := &propagation.Policy{Key: o.Key, Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: o.Spec.ResourceSelectors}}
	c, miss := matching.Select(p, &propagation.Template{Key: template, Labels: labels})
	return c.By, miss == ""
}

// inForce are the overrides that select the template, in the order in which
// they are applied: cluster overrides first, the more specific after the less
// specific, so that it has the last word, then by name.
func inForce(overrides []propagation.Override, template propagation.TemplateKey, labels map[string]string) []propagation.Override {
	type ranked struct {
		propagation.Override
		by matching.Specificity
	}
	var selected []ranked
	for _, o := range overrides {
		if by, ok := specificity(o, template, labels); ok {
			selected = append(selected, ranked{o, by})
		}
	}
	order := map[propagation.Scope]int{propagation.Cluster: 0, propagation.Namespaced: 1}
	slices.SortFunc(selected, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(order[a.Key.Scope], order[b.Key.Scope]), cmp.Compare(a.by, b.by), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	out := make([]propagation.Override, len(selected))
	for i, s := range selected {
		out[i] = s.Override
	}
	return out
}

// override is a copy of obj with those of o's rules applied that are for the
// cluster.
func override(obj map[string]any, o propagation.Override, cluster *clusterv1alpha1.Cluster) (map[string]any, error) {
	obj, _ = clone(obj).(map[string]any)
	for _, r := range rules(o.Spec) {
		if !affinity.Matches(r.TargetCluster, cluster) {
			continue
		}
		for _, c := range changes(r.Overriders) {
			next, err := c.do(obj)
			if undecoded := (*undecodable)(nil); propagation.IsSecret(obj) && errors.As(err, &undecoded) {
				err = errors.New(undecoded.what) // the rest quotes what could not be decoded
			}
			if err != nil {
				return nil, &OverrideError{Override: o.Key, Path: c.path, Err: err}
			}
			obj = next
		}
	}
	return obj, nil
}

// rules are the override's; its deprecated form is one rule.
func rules(spec policyv1alpha1.OverrideSpec) []policyv1alpha1.RuleWithCluster {
	if len(spec.OverrideRules) > 0 {
		return spec.OverrideRules
	}
	return []policyv1alpha1.RuleWithCluster{{TargetCluster: spec.TargetCluster, Overriders: spec.Overriders}}
}
