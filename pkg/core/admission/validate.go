// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// The words of the released system, which people search for.
const (
	needed       = "%s cannot be empty if preemption is Always, the empty %[1]s may cause unexpected resources preemption"
	immutableID  = "label %s is immutable, it can only be set by the system during creation: leave it out, or keep it %q"
	newScheduler = "the schedulerName should not be updated: keep it %q, or make another policy"
)

// Scopes has the scope of each kind that the hub serves.
type Scopes map[schema.GroupVersionKind]propagation.Scope

// Kinds returns the kinds whose scope Validate needs, each once. Most policies need
// none.
func Kinds(p Policy, old *Policy) []schema.GroupVersionKind {
	if p.Deleting || !judged(p, old) || p.Key.Scope != propagation.Cluster || p.Spec.Preemption != policyv1alpha1.PreemptAlways {
		return nil
	}
	var kinds []schema.GroupVersionKind
	seen := map[schema.GroupVersionKind]bool{}
	for i := range p.Spec.ResourceSelectors {
		gvk := kindOf(&p.Spec.ResourceSelectors[i])
		if gvk.Version != "" && !seen[gvk] { // without a version it is malformed
			seen[gvk] = true
			kinds = append(kinds, gvk)
		}
	}
	return kinds
}

func kindOf(s *policyv1alpha1.ResourceSelector) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
}

// Validate returns the reasons to refuse p; none if it is valid. old is the stored
// policy, nil at creation.
func Validate(p Policy, old *Policy, scopes Scopes) []Fault {
	if p.Deleting {
		return nil
	}
	faults := immutable(p, old)
	if !judged(p, old) {
		return faults
	}
	faults = append(faults, selectors(p.Key, p.Spec.ResourceSelectors)...)
	faults = append(faults, specific(p, scopes)...)
	return append(faults, placement(&p.Spec.Placement)...)
}

// ValidateOverride returns the reasons to refuse o; none if it is valid.
func ValidateOverride(o Override) []Fault {
	if o.Deleting {
		return nil
	}
	faults := selectors(o.Key, o.Spec.ResourceSelectors)
	faults = append(faults, affinity("spec.targetCluster", o.Spec.TargetCluster)...)
	for i := range o.Spec.OverrideRules {
		faults = append(faults, affinity(fmt.Sprintf("spec.overrideRules[%d].targetCluster", i), o.Spec.OverrideRules[i].TargetCluster)...)
	}
	return faults
}

// immutable is what an update may not change. A policy that was stored without
// a permanent id has its UID for one.
func immutable(p Policy, old *Policy) (faults []Fault) {
	if old == nil {
		return nil
	}
	p.UID = old.UID // an update may leave it out
	if label := p.idLabel(); p.id() != old.id() {
		faults = append(faults, Fault{"metadata.labels[" + label + "]", fmt.Sprintf(immutableID, label, old.id())})
	}
	was, is := cmp.Or(old.Spec.SchedulerName, propagation.DefaultScheduler), cmp.Or(p.Spec.SchedulerName, propagation.DefaultScheduler)
	if was != is {
		faults = append(faults, Fault{"spec.schedulerName", fmt.Sprintf(newScheduler, was)})
	}
	return faults
}

// selectors is what is wrong with each selector by itself.
func selectors(key propagation.PolicyKey, all []policyv1alpha1.ResourceSelector) (faults []Fault) {
	for i := range all {
		s := &all[i]
		if key.Scope == propagation.Namespaced && s.Namespace != "" && s.Namespace != key.Namespace {
			faults = append(faults, Fault{selector(i, "namespace"),
				fmt.Sprintf("the policy selects in its own namespace only: leave it out, or write %q", key.Namespace)})
		}
		faults = append(faults, labels(selector(i, "labelSelector"), s.LabelSelector)...)
	}
	return faults
}

// specific returns what keeps a policy from preempting: selectors that may choose more
// than one template.
func specific(p Policy, scopes Scopes) (faults []Fault) {
	if p.Spec.Preemption != policyv1alpha1.PreemptAlways {
		return nil
	}
	for i := range p.Spec.ResourceSelectors {
		s := &p.Spec.ResourceSelectors[i]
		if s.Name == "" {
			faults = append(faults, Fault{selector(i, "name"), fmt.Sprintf(needed, "name")})
		}
		if p.Key.Scope == propagation.Namespaced {
			continue
		}
		switch scope, served := scopes[kindOf(s)]; {
		case !served:
			faults = append(faults, Fault{selector(i, "kind"), fmt.Sprintf(
				"the hub serves no kind %s of %s, so it is not known what the selector may preempt: correct it, or install the kind first", s.Kind, s.APIVersion)})
		case scope == propagation.Namespaced && s.Namespace == "":
			faults = append(faults, Fault{selector(i, "namespace"), fmt.Sprintf(needed, "namespace")})
		}
	}
	return faults
}

// placement is what is wrong with the selectors of clusters.
func placement(p *policyv1alpha1.Placement) []Fault {
	faults := affinity("spec.placement.clusterAffinity", p.ClusterAffinity)
	for i := range p.ClusterAffinities {
		faults = append(faults, affinity(fmt.Sprintf("spec.placement.clusterAffinities[%d]", i), &p.ClusterAffinities[i].ClusterAffinity)...)
	}
	if p.ReplicaScheduling == nil || p.ReplicaScheduling.WeightPreference == nil {
		return faults
	}
	weights := p.ReplicaScheduling.WeightPreference.StaticWeightList
	for i := range weights {
		at := fmt.Sprintf("spec.placement.replicaScheduling.weightPreference.staticWeightList[%d].targetCluster", i)
		faults = append(faults, affinity(at, &weights[i].TargetCluster)...)
	}
	return faults
}

func affinity(field string, a *policyv1alpha1.ClusterAffinity) []Fault {
	if a == nil {
		return nil
	}
	return labels(field+".labelSelector", a.LabelSelector)
}

// labels returns the fault of a label selector that cannot be parsed.
func labels(field string, s *metav1.LabelSelector) []Fault {
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		return []Fault{{field, err.Error() + ": nothing would match it"}}
	}
	return nil
}
