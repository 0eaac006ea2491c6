// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Health tells whether an object does its job.
type Health = workv1alpha1.ResourceHealth

// Kind is what is known of a kind. Objects of the zero Kind are propagated as they are,
// and their health is Unknown.
type Kind struct {
	// prune takes out of an object, in place, what an API server or a controller
	// assigned to it.
	prune func(obj map[string]any)
	// unshare removes, in place, values that the hub assigned and all members would share,
	// where each member has to assign its own; nil: nothing.
	unshare func(obj map[string]any)
	// replicas is the field of the spec that says how many of it run, 1 where it is
	// absent; empty: there is none.
	replicas string
	// guessed reports that the kind is not among known: its objects have replicas if the
	// spec has both that field and a pod template.
	guessed bool
	// reports are the fields of the status that members report; nil: none.
	reports []string
	// health; nil: it cannot be told.
	health func(obj map[string]any) Health
	// total computes the template's status from the members'. Where it is nil, or returns
	// nil, the members' status is not written to the template: that has a status of its
	// own, or none.
	total func(template map[string]any, members []Member) map[string]any
	// refers collects what the object refers to; nil: nothing.
	refers func(c *collector, obj map[string]any)
	// ends reports from the status whether an object is finished, as a Job is; nil:
	// objects of the kind never finish.
	ends func(obj map[string]any) bool
	// unawaited reports whether placements go on without waiting for the object to be
	// healthy, as the released API says; nil: they always wait.
	unawaited func(obj map[string]any) bool
	// own are the abilities that the kind's owner gives it.
	own Own
}

// known has the kinds that need special treatment. Each has a file of its own, or
// shares one with similar kinds.
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

	// Objects that hold data are healthy as soon as they exist.
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

// Of returns what is built in for the object's kind. What the kind's owner says is in a
// Table.
func Of(obj map[string]any) Kind {
	return Named(schema.FromAPIVersionAndKind(text(obj, "apiVersion"), text(obj, "kind")).GroupKind())
}

// Named returns what is built in for the kind; for a kind that is not among known, what
// kinds have by convention.
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

// Unshare removes from the object, in place, values that the hub assigned and that all
// members would share, such as the node ports of a Service: each member assigns its
// own.
func (k Kind) Unshare(obj map[string]any) {
	if k.unshare != nil {
		k.unshare(obj)
	}
}

// Replicas is how many of it run, by its spec; 0 where it does not say. For a kind that
// is not among known, the number counts only beside a pod template.
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

// ErrNoReplicas says that nobody knows where an object says how many of it run.
var ErrNoReplicas = errors.New("no rule says where objects of the kind have their number")

// SetReplicas sets the number of replicas to n; ErrNoReplicas where the object has none.
func (k Kind) SetReplicas(obj map[string]any, n int32) error {
	if k.own.SetReplicas != nil {
		return k.own.SetReplicas(obj, n)
	}
	spec, ok := obj["spec"].(map[string]any)
	if !ok || k.replicas == "" || k.guessed && spec[k.replicas] == nil {
		return ErrNoReplicas
	}
	spec[k.replicas] = int64(n)
	return nil
}

// MemberFields returns the fields that belong to the member: the object is created with
// the template's values, and after that the member's values are kept.
func (k Kind) MemberFields() []Path { return k.own.MemberFields }

// By says who gives the kind abilities of its own; empty: nobody.
func (k Kind) By() string { return k.own.By }

// Undefined is why nobody knows any more what the kind's owner said of it, so that what
// depends on that stays as it is; nil: it is known.
func (k Kind) Undefined() error { return k.own.Undefined }

// Ends reports whether objects of the kind finish, as Jobs do. One whose template is
// created again has to run again.
func (k Kind) Ends() bool { return k.ends != nil }

// Ended reports from its status whether the object is finished.
func (k Kind) Ended(obj map[string]any) bool { return k.ends != nil && k.ends(obj) }

// Awaited tells whether a placement waits until the object is healthy.
func (k Kind) Awaited(obj map[string]any) bool {
	return k.own.Health != nil || k.unawaited == nil || !k.unawaited(obj)
}

// References returns the objects that this one refers to, sorted and without
// duplicates. All are in its namespace.
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
