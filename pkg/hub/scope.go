// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	placementv1 "sluice.dev/apis/placement/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

// The kinds that serve each scope. Nothing else in Sluice names a kind in order
// to tell the scopes apart.
var (
	policyKinds = map[propagation.Scope]resource{
		propagation.Namespaced: {
			GroupVersionKind: policyv1alpha1.SchemeGroupVersion.WithKind(policyv1alpha1.KindPropagationPolicy),
			Plural:           policyv1alpha1.ResourcePropagationPolicies, Namespaced: true, Status: true,
		},
		propagation.Cluster: {
			GroupVersionKind: policyv1alpha1.SchemeGroupVersion.WithKind(policyv1alpha1.KindClusterPropagationPolicy),
			Plural:           policyv1alpha1.ResourceClusterPropagationPolicies, Status: true,
		},
	}
	overrideKinds = map[propagation.Scope]resource{
		propagation.Namespaced: {
			GroupVersionKind: policyv1alpha1.SchemeGroupVersion.WithKind(policyv1alpha1.KindOverridePolicy),
			Plural:           policyv1alpha1.ResourceOverridePolicies, Namespaced: true,
		},
		propagation.Cluster: {
			GroupVersionKind: policyv1alpha1.SchemeGroupVersion.WithKind(policyv1alpha1.KindClusterOverridePolicy),
			Plural:           policyv1alpha1.ResourceClusterOverridePolicies,
		},
	}
	bindingKinds = map[propagation.Scope]resource{
		propagation.Namespaced: {
			GroupVersionKind: workv1alpha2.SchemeGroupVersion.WithKind(workv1alpha2.KindResourceBinding),
			Plural:           workv1alpha2.ResourceResourceBindings, Namespaced: true, Status: true,
		},
		propagation.Cluster: {
			GroupVersionKind: workv1alpha2.SchemeGroupVersion.WithKind(workv1alpha2.KindClusterResourceBinding),
			Plural:           workv1alpha2.ResourceClusterResourceBindings, Status: true,
		},
	}
)

// workKinds are the kinds of Works: one concept in two wire forms.
var workKinds = map[propagation.Form]resource{
	propagation.PolicyForm: {
		GroupVersionKind: workv1alpha1.SchemeGroupVersion.WithKind(workv1alpha1.KindWork),
		Plural:           workv1alpha1.ResourceWorks, Namespaced: true, Status: true,
	},
	propagation.PlacementForm: {
		GroupVersionKind: placementv1.SchemeGroupVersion.WithKind(placementv1.KindWork),
		Plural:           placementv1.ResourceWorks, Namespaced: true, Status: true,
	},
}

// The kinds that have one scope.
var (
	clusterKind = resource{
		GroupVersionKind: clusterv1alpha1.SchemeGroupVersion.WithKind(clusterv1alpha1.KindCluster),
		Plural:           clusterv1alpha1.ResourceClusters, Status: true,
	}
	revisionKind = resource{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}, Plural: "controllerrevisions", Namespaced: true}
	secretKind   = resource{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Plural: "secrets", Namespaced: true}
)

// scoped is the kinds of both scopes.
type scoped[T any] map[propagation.Scope]*kind[T]
