// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// serviceImport is the kind whose policies always propagate dependencies: an imported
// Service is useless without its EndpointSlices.
var serviceImport = policyv1alpha1.ResourceSelector{APIVersion: "multicluster.x-k8s.io/v1alpha1", Kind: "ServiceImport"}

// Default fills in what p leaves out. At creation (old is nil) newID becomes the
// permanent id of a policy that brings none. In an update the id stays what it was,
// which is the UID for a policy that had no label. p itself is not changed.
func Default(p Policy, old *Policy, newID string) Policy {
	p.Spec = *p.Spec.DeepCopy()
	id := newID
	if old != nil {
		id = old.id()
	}
	label := p.idLabel()
	if p.Labels = maps.Clone(p.Labels); p.Labels[label] == "" && id != "" {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[label] = id
	}
	namespaces(p.Key, p.Spec.ResourceSelectors)
	if slices.ContainsFunc(p.Spec.ResourceSelectors, isServiceImport) {
		p.Spec.PropagateDeps = true
	}
	for i := range p.Spec.Placement.SpreadConstraints {
		c := &p.Spec.Placement.SpreadConstraints[i]
		if c.SpreadByField == "" && c.SpreadByLabel == "" {
			c.SpreadByField = policyv1alpha1.SpreadByFieldCluster
		}
		c.MinGroups = max(c.MinGroups, 1)
	}
	return p
}

// DefaultOverride fills in what o leaves out. o itself is not changed.
func DefaultOverride(o Override) Override {
	o.Spec = *o.Spec.DeepCopy()
	namespaces(o.Key, o.Spec.ResourceSelectors)
	return o
}

// namespaces sets the namespace of a namespaced policy in those of its selectors that
// leave it out.
func namespaces(key propagation.PolicyKey, selectors []policyv1alpha1.ResourceSelector) {
	for i := range selectors {
		if key.Scope == propagation.Namespaced && selectors[i].Namespace == "" {
			selectors[i].Namespace = key.Namespace
		}
	}
}

func isServiceImport(s policyv1alpha1.ResourceSelector) bool {
	return s.APIVersion == serviceImport.APIVersion && s.Kind == serviceImport.Kind
}
