// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
)

// Placement is a placement as somebody sends it, or as it stands.
type Placement struct {
	Deleting bool
	Spec     placementv1.ClusterResourcePlacementSpec
}

// PlacementKinds returns the kinds whose scope ValidatePlacement needs, each once. They
// are those of new selectors: a selector that was accepted before is accepted again,
// whether or not its kind is still served.
func PlacementKinds(p Placement, old *Placement) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, i := range newSelectors(p, old) {
		if gvk := selectedKind(&p.Spec.ResourceSelectors[i]); !slices.Contains(kinds, gvk) {
			kinds = append(kinds, gvk)
		}
	}
	return kinds
}

// newSelectors are the places of the selectors that old does not have.
func newSelectors(p Placement, old *Placement) []int {
	if p.Deleting {
		return nil
	}
	var places []int
	for i := range p.Spec.ResourceSelectors {
		known := old != nil && slices.ContainsFunc(old.Spec.ResourceSelectors, func(o placementv1.ClusterResourceSelector) bool {
			return equality.Semantic.DeepEqual(o, p.Spec.ResourceSelectors[i])
		})
		if !known {
			places = append(places, i)
		}
	}
	return places
}

func selectedKind(s *placementv1.ClusterResourceSelector) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: s.Group, Version: s.Version, Kind: s.Kind}
}

// ValidatePlacement returns the reasons to refuse p; none if it is valid. old is the
// stored placement, nil at creation.
func ValidatePlacement(p Placement, old *Placement, scopes Scopes) (faults []Fault) {
	for _, i := range newSelectors(p, old) {
		s := &p.Spec.ResourceSelectors[i]
		switch scope, served := scopes[selectedKind(s)]; {
		case !served:
			faults = append(faults, Fault{selector(i, "kind"), fmt.Sprintf(
				"the hub serves no kind %s of %s: correct it, or install the kind first", s.Kind, schema.GroupVersion{Group: s.Group, Version: s.Version})})
		case scope == propagation.Namespaced:
			faults = append(faults, Fault{selector(i, "kind"), fmt.Sprintf(
				"%s has namespaces, and only kinds without can be selected: select the Namespace, and what is in it comes along", s.Kind)})
		}
		faults = append(faults, labels(selector(i, "labelSelector"), s.LabelSelector)...)
	}
	if p.Deleting || old != nil && equality.Semantic.DeepEqual(p.Spec.Policy, old.Spec.Policy) {
		return faults
	}
	return append(faults, members(p.Spec.Policy)...)
}

// members is what is wrong with the selectors of members.
func members(p *placementv1.PlacementPolicy) (faults []Fault) {
	if p == nil || p.Affinity == nil || p.Affinity.ClusterAffinity == nil {
		return nil
	}
	const at = "spec.policy.affinity.clusterAffinity."
	a := p.Affinity.ClusterAffinity
	if r := a.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
		faults = terms(at+"requiredDuringSchedulingIgnoredDuringExecution", r)
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		field := fmt.Sprintf("%spreferredDuringSchedulingIgnoredDuringExecution[%d].preference.labelSelector", at, i)
		faults = append(faults, labels(field, a.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference.LabelSelector)...)
	}
	return faults
}

func terms(field string, s *placementv1.ClusterSelector) (faults []Fault) {
	for i := range s.ClusterSelectorTerms {
		faults = append(faults, labels(fmt.Sprintf("%s.clusterSelectorTerms[%d].labelSelector", field, i), s.ClusterSelectorTerms[i].LabelSelector)...)
	}
	return faults
}

// ValidateOverridePolicy says why an override of placements is refused.
func ValidateOverridePolicy(p *placementv1.OverridePolicy) (faults []Fault) {
	if p == nil {
		return nil
	}
	for i := range p.OverrideRules {
		at := fmt.Sprintf("spec.policy.overrideRules[%d]", i)
		if s := p.OverrideRules[i].ClusterSelector; s != nil {
			faults = append(faults, terms(at+".clusterSelector", s)...)
		}
		for j, o := range p.OverrideRules[i].JSONPatchOverrides {
			if o.Operator == placementv1.JSONPatchOverrideOpRemove && o.Value != nil {
				faults = append(faults, Fault{fmt.Sprintf("%s.jsonPatchOverrides[%d].value", at, j), "remove operation cannot have a value"})
			}
		}
	}
	return faults
}

// SnapshotChanged returns the fault of a change of a snapshot's spec, which is
// immutable.
func SnapshotChanged() []Fault {
	return []Fault{{"spec", "spec is immutable: a snapshot holds what was. To go back to it, roll back the placement"}}
}
