// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

// actedOn are the fields that somebody reads, or writes if they are of a status, at least
// for some of their values. Each field of a kind is here, or in the lists of
// pkg/core/propagation.
var actedOn = map[string]string{
	"policies": placement + `
	spec.resourceSelectors[].apiVersion
	spec.resourceSelectors[].kind
	spec.resourceSelectors[].namespace
	spec.resourceSelectors[].name
	spec.resourceSelectors[].labelSelector
	spec.association
	spec.propagateDeps
	spec.priority
	spec.preemption
	spec.schedulerName
	spec.conflictResolution
	spec.activationPreference
	spec.suspension.dispatching
	spec.suspension.dispatchingOnClusters.clusterNames
	spec.suspension.suspendDispatching
	spec.suspension.suspendDispatchingOnClusters.clusterNames
	spec.preserveResourcesOnDeletion
	status.observedGeneration
	status.templates.claimed
	status.templates.active
	status.templates.pending
	status.templates.suspended
	status.templates.failed
	status.conditions
`,
	"bindings": placement + `
	spec.resource.apiVersion
	spec.resource.kind
	spec.resource.namespace
	spec.resource.name
	spec.resource.uid
	spec.resource.resourceVersion
	spec.propagateDeps
	spec.replicas
	spec.clusters[].name
	spec.clusters[].replicas
	spec.requiredBy[].namespace
	spec.requiredBy[].name
	spec.requiredBy[].clusters[].name
	spec.requiredBy[].clusters[].replicas
	spec.schedulerName
	spec.conflictResolution
	spec.suspension.dispatching
	spec.suspension.dispatchingOnClusters.clusterNames
	spec.suspension.scheduling
	spec.preserveResourcesOnDeletion
	status.schedulerObservedGeneration
	status.schedulerObservingAffinityName
	status.conditions
	status.aggregatedStatus[].clusterName
	status.aggregatedStatus[].status
	status.aggregatedStatus[].applied
	status.aggregatedStatus[].appliedMessage
	status.aggregatedStatus[].health
	status.finishedIn[].clusterID
	status.finishedIn[].templateUID
	status.finishedIn[].status
`,
	"works": `
	spec.workload.manifests[]
	spec.suspendDispatching
	spec.preserveResourcesOnDeletion
	status.conditions
	status.manifestStatuses[].identifier.ordinal
	status.manifestStatuses[].identifier.group
	status.manifestStatuses[].identifier.version
	status.manifestStatuses[].identifier.kind
	status.manifestStatuses[].identifier.resource
	status.manifestStatuses[].identifier.namespace
	status.manifestStatuses[].identifier.name
	status.manifestStatuses[].status
	status.manifestStatuses[].health
	status.manifestStatuses[].message
	status.manifestStatuses[].applied.manifestHash
	status.manifestStatuses[].applied.changed
	status.manifestStatuses[].applied.fieldsHash
	status.manifestStatuses[].applied.uid
	status.applied.manifestHash
	status.applied.changed
	status.applied.fieldsHash
	status.applied.uid
`,
	"clusters": `
	spec.id
	spec.syncMode
	spec.apiEndpoint
	spec.secretRef.namespace
	spec.secretRef.name
	spec.insecureSkipTLSVerification
	spec.proxyURL
	spec.proxyHeader
	spec.provider
	spec.region
	spec.zone
	spec.zones
	spec.taints
	status.kubernetesVersion
	status.apiEnablements[].groupVersion
	status.apiEnablements[].resources[].name
	status.apiEnablements[].resources[].kind
	status.conditions
	status.resourceSummary.allocatable
	status.resourceSummary.allocated
`,
}

const placement = `
	spec.placement.clusterAffinity.labelSelector
	spec.placement.clusterAffinity.fieldSelector.matchExpressions
	spec.placement.clusterAffinity.clusterNames
	spec.placement.clusterAffinity.exclude
	spec.placement.clusterAffinities[].affinityName
	spec.placement.clusterAffinities[].labelSelector
	spec.placement.clusterAffinities[].fieldSelector.matchExpressions
	spec.placement.clusterAffinities[].clusterNames
	spec.placement.clusterAffinities[].exclude
	spec.placement.clusterTolerations
	spec.placement.spreadConstraints[].spreadByField
	spec.placement.spreadConstraints[].spreadByLabel
	spec.placement.spreadConstraints[].maxGroups
	spec.placement.spreadConstraints[].minGroups
	spec.placement.replicaScheduling.replicaSchedulingType
	spec.placement.replicaScheduling.replicaDivisionPreference
	spec.placement.replicaScheduling.weightPreference.staticWeightList[].targetCluster.labelSelector
	spec.placement.replicaScheduling.weightPreference.staticWeightList[].targetCluster.fieldSelector.matchExpressions
	spec.placement.replicaScheduling.weightPreference.staticWeightList[].targetCluster.clusterNames
	spec.placement.replicaScheduling.weightPreference.staticWeightList[].targetCluster.exclude
	spec.placement.replicaScheduling.weightPreference.staticWeightList[].weight
	spec.placement.replicaScheduling.weightPreference.dynamicWeight
`
