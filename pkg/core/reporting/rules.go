// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporting

// rule says how the objects of a kind are reported.
type rule struct {
	// fields of the status that members report.
	fields []string
	// health; nil: it cannot be told.
	health func(obj map[string]any) Health
	// total is the template's status; nil: the template has none of its
	// members', for it has one of its own or none at all.
	total func(have map[string]any, members []member) map[string]any
}

// rules are the kinds that are known, by group and kind.
var rules = map[string]rule{
	"apps/Deployment":  workload(deploymentHealth, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas"),
	"apps/StatefulSet": workload(statefulSetHealth, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "currentReplicas"),
	"apps/ReplicaSet":  workload(replicaSetHealth, "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
	"apps/DaemonSet": workload(daemonSetHealth, "currentNumberScheduled", "desiredNumberScheduled", "numberAvailable", "numberMisscheduled",
		"numberReady", "numberUnavailable", "updatedNumberScheduled"),
	"policy/PodDisruptionBudget":          workload(budgetHealth, "currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"),
	"autoscaling/HorizontalPodAutoscaler": {fields: []string{"currentReplicas", "desiredReplicas"}, total: sums("currentReplicas", "desiredReplicas")},

	"batch/Job":     {fields: []string{"active", "succeeded", "failed", "startTime", "completionTime", "conditions"}, health: jobHealth, total: jobTotal},
	"batch/CronJob": {fields: []string{"active", "lastScheduleTime", "lastSuccessfulTime"}, total: cronJobTotal},
	"/Pod":          {fields: []string{"phase", "containerStatuses", "initContainerStatuses"}, health: podHealth, total: worstPhase("Failed", "Unknown", "Pending", "Running", "Succeeded")},

	"/Service":                  {fields: []string{"loadBalancer"}, health: serviceHealth, total: addresses},
	"networking.k8s.io/Ingress": {fields: []string{"loadBalancer"}, health: ingressHealth, total: addresses},

	"/PersistentVolumeClaim": {fields: []string{"phase", "accessModes", "capacity"}, health: phaseHealth("Bound"), total: worstPhase("Lost", "Pending", "Bound")},
	"/PersistentVolume":      {fields: []string{"phase"}, health: phaseHealth("Available", "Bound", "Released"), total: worstPhase("Failed", "Pending", "Released", "Available", "Bound")},

	// The hub serves these itself, and has a status of its own.
	"/Namespace": {fields: []string{"phase"}, health: phaseHealth("Active")},
	"apiextensions.k8s.io/CustomResourceDefinition": {fields: []string{"conditions"}, health: conditionsHealth("Established", "NamesAccepted")},
	"apiregistration.k8s.io/APIService":             {fields: []string{"conditions"}, health: conditionsHealth("Available")},

	// Data does its job as soon as it is there.
	"/ConfigMap":                                   {health: thereHealth},
	"/Secret":                                      {health: thereHealth},
	"/ServiceAccount":                              {health: thereHealth},
	"/LimitRange":                                  {health: thereHealth},
	"/ResourceQuota":                               {fields: []string{"hard", "used"}, health: thereHealth},
	"rbac.authorization.k8s.io/Role":               {health: thereHealth},
	"rbac.authorization.k8s.io/RoleBinding":        {health: thereHealth},
	"rbac.authorization.k8s.io/ClusterRole":        {health: thereHealth},
	"rbac.authorization.k8s.io/ClusterRoleBinding": {health: thereHealth},
	"networking.k8s.io/NetworkPolicy":              {health: thereHealth},
	"networking.k8s.io/IngressClass":               {health: thereHealth},
	"storage.k8s.io/StorageClass":                  {health: thereHealth},
	"scheduling.k8s.io/PriorityClass":              {health: thereHealth},
	"node.k8s.io/RuntimeClass":                     {health: thereHealth},
	"admissionregistration.k8s.io/ValidatingWebhookConfiguration": {health: thereHealth},
	"admissionregistration.k8s.io/MutatingWebhookConfiguration":   {health: thereHealth},
}

// workload is the rule of a kind whose status counts, and says which generation
// it is of.
func workload(health func(map[string]any) Health, counts ...string) rule {
	return rule{fields: append([]string{observedGeneration}, counts...), health: health, total: sums(counts...)}
}
