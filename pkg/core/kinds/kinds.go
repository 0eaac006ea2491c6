// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Health tells whether an object does its job.
type Health = workv1alpha1.ResourceHealth

// Kind is what is known of a kind. The zero value is one that is carried as it is, and
// of whose objects nothing can be told.
type Kind struct {
	// prune takes out of an object, in place, what an API server or a controller
	// assigned to it.
	prune func(obj map[string]any)
	// unshare takes out, in place, what the hub assigned and members share, where each is
	// to have its own; nil: nothing.
	unshare func(obj map[string]any)
	// replicas is the field of the spec that says how many of it run, 1 where it is
	// absent; empty: there is none.
	replicas string
	// guessed says that the kind is none that Sluice was told about: it has replicas
	// where its spec has them, and a template of pods.
	guessed bool
	// reports are the fields of the status that members report; nil: none.
	reports []string
	// health; nil: it cannot be told.
	health func(obj map[string]any) Health
	// total is the template's status; nil: the template has none of its members', for
	// it has one of its own or none at all, and so where the function returns nil.
	total func(template map[string]any, members []Member) map[string]any
	// refers collects what the object refers to; nil: nothing.
	refers func(c *collector, obj map[string]any)
	// ends tells by its status that an object has come to its end; nil: it has none.
	ends func(obj map[string]any) bool
	// unawaited tells that placements do not wait for the object's health, as released;
	// nil: they do.
	unawaited func(obj map[string]any) bool
	// own are the abilities that the kind's owner gives it.
	own Own
}

// known are the kinds that want more than all have, one file each, or one for what is
// alike.
var known = map[schema.GroupKind]Kind{
	{Kind: "Namespace"}:             namespace,
	{Kind: "Pod"}:                   pod,
	{Kind: "PersistentVolume"}:      volume,
	{Kind: "PersistentVolumeClaim"}: volumeClaim,
	{Kind: "ReplicationController"}: replicationController,
	{Kind: "ResourceQuota"}:         quota,
	{Kind: "Secret"}:                secret,
	{Kind: "Service"}:               service,
	{Kind: "ServiceAccount"}:        serviceAccount,

	{Group: "apps", Kind: "DaemonSet"}:   daemonSet,
	{Group: "apps", Kind: "Deployment"}:  deployment,
	{Group: "apps", Kind: "ReplicaSet"}:  replicaSet,
	{Group: "apps", Kind: "StatefulSet"}: statefulSet,

	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: autoscaler,
	{Group: "batch", Kind: "CronJob"}:                       cronJob,
	{Group: "batch", Kind: "Job"}:                           job,
	{Group: "networking.k8s.io", Kind: "Ingress"}:           ingress,
	{Group: "policy", Kind: "PodDisruptionBudget"}:          disruptionBudget,

	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: definition,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             apiService,

	// Data does its job as soon as it is there.
	{Kind: "ConfigMap"}:  data,
	{Kind: "LimitRange"}: data,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                              data,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:                       data,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:                       data,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:                data,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:                             data,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                              data,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                                 data,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:                             data,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                                    data,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}: data,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:   data,
}

// Of is what Sluice alone knows of the object's kind: what an owner of the kind says
// is in a Table.
func Of(obj map[string]any) Kind {
	return Named(schema.FromAPIVersionAndKind(text(obj, "apiVersion"), text(obj, "kind")).GroupKind())
}

// Named is what Sluice alone knows of the kind; of one that it was not told about, what
// all kinds have by convention.
func Named(gk schema.GroupKind) Kind {
	if k, ok := known[gk]; ok {
		return k
	}
	return unknown
}

// Prune takes out of the object, in place, what an API server or a controller assigned
// to it because of its kind.
func (k Kind) Prune(obj map[string]any) {
	if k.prune != nil {
		k.prune(obj)
	}
}

// Unshare takes out of the object, in place, what the hub assigned and its members would
// have in common, as the node ports of a Service: each gets its own.
func (k Kind) Unshare(obj map[string]any) {
	if k.unshare != nil {
		k.unshare(obj)
	}
}

// Replicas is how many of it run, by its spec; 0 where it does not say. Of a kind that
// Sluice was not told about a number counts beside a template of pods.
func (k Kind) Replicas(obj map[string]any) (int32, error) {
	if k.own.Replicas != nil {
		return k.own.Replicas(obj)
	}
	if k.replicas == "" || k.guessed && (child(obj, "spec", "template") == nil || at(obj, "spec", k.replicas) == nil) {
		return 0, nil
	}
	return int32(numberOr(obj, 1, "spec", k.replicas)), nil //nolint:gosec // the API server has checked it
}

// Scales tells whether the kind says how many of it run, and its status how many do.
func (k Kind) Scales() bool {
	return k.replicas == "replicas" && slices.Contains(k.reports, "replicas")
}

// SetReplicas has n of it run, where it says how many do.
func (k Kind) SetReplicas(obj map[string]any, n int32) error {
	if k.own.SetReplicas != nil {
		return k.own.SetReplicas(obj, n)
	}
	spec, ok := obj["spec"].(map[string]any)
	if !ok || k.replicas == "" || k.guessed && spec[k.replicas] == nil {
		return nil
	}
	spec[k.replicas] = int64(n)
	return nil
}

// MemberFields are the fields of an object that belong to the member: it begins with
// what the template says, and keeps what it has then.
func (k Kind) MemberFields() []Path { return k.own.MemberFields }

// Ends tells whether objects of the kind do something, and then have done it: one that
// is made anew is to do it again.
func (k Kind) Ends() bool { return k.ends != nil }

// Ended tells by its status whether the object has done what it does.
func (k Kind) Ended(obj map[string]any) bool { return k.ends != nil && k.ends(obj) }

// Awaited tells whether a placement waits until the object is healthy.
func (k Kind) Awaited(obj map[string]any) bool {
	return k.own.Health != nil || k.unawaited == nil || !k.unawaited(obj)
}

// References are the objects that this one refers to, sorted and without doubles. They
// are where it is.
func (k Kind) References(obj map[string]any) ([]propagation.TemplateKey, error) {
	c := collector{namespace: text(obj, "metadata", "namespace")}
	switch {
	case k.own.References != nil:
		found, err := k.own.References(obj)
		if err != nil {
			return nil, err
		}
		c.found = found
	case k.refers != nil:
		k.refers(&c, obj)
	}
	return c.sorted(), nil
}

func always(map[string]any) bool { return true }
