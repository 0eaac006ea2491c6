// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
)

// Field is a field that the API has, and that has no effect, or not the effect that the
// released API gives it. Spec is the spec of the kind that has it. The lists below are
// complete: docs/fields.md is generated from them, and an object's condition about fields
// without effect comes from them.
type Field[Spec any] struct {
	// Path in the object, as in spec.placement.clusterTolerations[].tolerationSeconds.
	Path string
	// Part is the value of the field that this is about, after the path; empty: all
	// values.
	Part string
	// Today is what happens now.
	Today string
	// By is the component that will act on the field.
	By string
	// Instead is what happens, in a few words, for the condition; empty: the same as
	// without the field.
	Instead string
	// Vain reports whether an object sets the field without effect; nil: no condition
	// mentions it.
	Vain func(s *Spec) bool
}

// Name returns the path and the part.
func (f Field[Spec]) Name() string {
	if f.Part == "" {
		return f.Path
	}
	return f.Path + " " + f.Part
}

// The components that will act on fields.
const (
	byScheduler = "the scheduler"
	byEstimator = "the scheduler, with an estimator"
	byEvictor   = "the evictor, to come"
	noPlan      = "no plan"
)

// PolicyFields are the fields of policies.
var PolicyFields = []Field[policyv1alpha1.PropagationSpec]{
	{
		Path: "spec.failover", By: byEvictor,
		Today: "copied into the binding, at the pace of the gate; nobody moves anything. The gate `Failover` of `config-features` is read and switches nothing",
		Vain:  func(s *policyv1alpha1.PropagationSpec) bool { return s.Failover != nil },
	}, {
		Path: "spec.schedulePriority", By: byScheduler,
		Today: "stored only; the binding's `schedulePriority` stays empty. Bindings are scheduled in the order of their events",
		Vain:  func(s *policyv1alpha1.PropagationSpec) bool { return s.SchedulePriority != nil },
	}, {
		Path: "spec.dependentOverrides", By: "the gate",
		Today: "nobody waits for the overrides; those that exist apply",
		Vain:  func(s *policyv1alpha1.PropagationSpec) bool { return len(s.DependentOverrides) > 0 },
	}, {
		Path: "spec.placement.replicaScheduling", Part: "by the room that clusters have", By: byEstimator,
		Today: "`dynamicWeight` and `Aggregated` act on what the clusters' nodes have left of CPU and memory, as it was measured last ([decision 0059](decisions/0059-what-is-added-goes-where-there-is-room.md)). Where a replica requests neither, or a cluster is not measured, replicas are divided evenly, or the first in order takes all; `explain` tells",
	}, {
		Path: "spec.placement.clusterTolerations[].tolerationSeconds", By: byEvictor, Instead: "it is tolerated for ever",
		Today: "ignored. Key, value, effect and operator are acted on: a cluster with an untolerated `NoSchedule` or `NoExecute` taint gets nothing new, and keeps what it has",
		Vain: func(s *policyv1alpha1.PropagationSpec) bool {
			return slices.ContainsFunc(s.Placement.ClusterTolerations, func(t corev1.Toleration) bool {
				return t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoSchedule
			})
		},
	},
}

// BindingFields are the fields of bindings.
var BindingFields = []Field[workv1alpha2.ResourceBindingSpec]{
	{Path: "spec.replicaRequirements", Today: "`resourceRequest` is filled in where replicas are divided by room. The rest is not, and kept where somebody else does", By: byEstimator},
	{Path: "spec.failover", Today: "copied from the policy; nobody moves anything", By: byEvictor},
	{Path: "spec.components", Today: "not filled in; kept where somebody else does", By: byEstimator},
	{
		Path: "spec.gracefulEvictionTasks", By: byEvictor, Instead: "a cluster that a task names is chosen no more; nobody waits for the grace, or ends the task",
		Today: "a cluster that a task names is chosen no more; the grace is not waited for, nobody makes a task, and nobody ends one",
		Vain:  func(s *workv1alpha2.ResourceBindingSpec) bool { return len(s.GracefulEvictionTasks) > 0 },
	}, {
		Path: "spec.rescheduleTriggeredAt", By: byScheduler,
		Today: "ignored",
		Vain:  func(s *workv1alpha2.ResourceBindingSpec) bool { return s.RescheduleTriggeredAt != nil },
	}, {
		Path: "spec.schedulePriority", By: byScheduler,
		Today: "ignored",
		Vain:  func(s *workv1alpha2.ResourceBindingSpec) bool { return s.SchedulePriority != nil },
	},
	{Path: "status.lastScheduledTime", Today: "not written", By: "the reporter"},
}

// WorkFields are the fields of Works.
var WorkFields = []Field[workv1alpha1.WorkSpec]{
	{Path: "status.conditions", Part: "Progressing, Available, Degraded", Today: "not written. `Applied`, `Dispatching` and the health in `status.manifestStatuses` are", By: noPlan},
}

// ClusterFields are the fields of Clusters.
var ClusterFields = []Field[clusterv1alpha1.ClusterSpec]{
	{
		Path: "spec.syncMode", Part: "Pull", By: "an agent, to come", Instead: "the same as Push",
		Today: "treated as `Push`; there is no agent",
		Vain:  func(s *clusterv1alpha1.ClusterSpec) bool { return s.SyncMode == clusterv1alpha1.Pull },
	}, {
		Path: "spec.impersonatorSecretRef", By: noPlan,
		Today: "ignored; nobody passes people's requests on",
		Vain:  func(s *clusterv1alpha1.ClusterSpec) bool { return s.ImpersonatorSecretRef != nil },
	}, {
		Path: "spec.resourceModels", By: "an estimator",
		Today: "ignored",
		Vain:  func(s *clusterv1alpha1.ClusterSpec) bool { return len(s.ResourceModels) > 0 },
	},
	{Path: "status.resourceSummary.allocating", Today: "not written. `allocatable` and `allocated` are, of CPU and memory, where they changed by a twentieth", By: "an estimator"},
	{Path: "status.resourceSummary.allocatableModelings", Today: "not written", By: "an estimator"},
	{Path: "status.nodeSummary", Today: "not written", By: "an estimator"},
	{Path: "status.remedyActions", Today: "not written", By: noPlan},
	{Path: "spec.taints", Part: "cluster.karmada.io/not-ready, cluster.karmada.io/unreachable", Today: "nobody sets them; they are respected like any other", By: byEvictor},
}

// Ignored returns those of the fields that an object sets without effect.
func Ignored[Spec any](fields []Field[Spec], s *Spec) []Field[Spec] {
	var all []Field[Spec]
	for _, f := range fields {
		if f.Vain != nil && f.Vain(s) {
			all = append(all, f)
		}
	}
	return all
}
