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
			plural:           policyv1alpha1.ResourcePropagationPolicies, namespaced: true, status: true,
		},
		propagation.Cluster: {
			GroupVersionKind: policyv1alpha1.SchemeGroupVersion.WithKind(policyv1alpha1.KindClusterPropagationPolicy),
			plural:           policyv1alpha1.ResourceClusterPropagationPolicies, status: true,
		},
	}
	overrideKinds = map[propagation.Scope]resource{
		propagation.Namespaced: {
			GroupVersionKind: policyv1alpha1.SchemeGroupVersion.WithKind(policyv1alpha1.KindOverridePolicy),
			plural:           policyv1alpha1.ResourceOverridePolicies, namespaced: true,
		},
		propagation.Cluster: {
			GroupVersionKind: policyv1alpha1.SchemeGroupVersion.WithKind(policyv1alpha1.KindClusterOverridePolicy),
			plural:           policyv1alpha1.ResourceClusterOverridePolicies,
		},
	}
	bindingKinds = map[propagation.Scope]resource{
		propagation.Namespaced: {
			GroupVersionKind: workv1alpha2.SchemeGroupVersion.WithKind(workv1alpha2.KindResourceBinding),
			plural:           workv1alpha2.ResourceResourceBindings, namespaced: true, status: true,
		},
		propagation.Cluster: {
			GroupVersionKind: workv1alpha2.SchemeGroupVersion.WithKind(workv1alpha2.KindClusterResourceBinding),
			plural:           workv1alpha2.ResourceClusterResourceBindings, status: true,
		},
	}
)

// workKinds are the kinds of Works: one concept in two wire forms.
var workKinds = map[propagation.Form]resource{
	propagation.PolicyForm: {
		GroupVersionKind: workv1alpha1.SchemeGroupVersion.WithKind(workv1alpha1.KindWork),
		plural:           workv1alpha1.ResourceWorks, namespaced: true, status: true,
	},
	propagation.PlacementForm: {
		GroupVersionKind: placementv1.SchemeGroupVersion.WithKind(placementv1.KindWork),
		plural:           placementv1.ResourceWorks, namespaced: true, status: true,
	},
}

// The kinds that have one scope.
var (
	clusterKind = resource{
		GroupVersionKind: clusterv1alpha1.SchemeGroupVersion.WithKind(clusterv1alpha1.KindCluster),
		plural:           clusterv1alpha1.ResourceClusters, status: true,
	}
	revisionKind = resource{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}, plural: "controllerrevisions", namespaced: true}
	secretKind   = resource{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, plural: "secrets", namespaced: true}
)

// scoped is the kinds of both scopes.
type scoped[T any] map[propagation.Scope]*kind[T]
