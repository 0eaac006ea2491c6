// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"errors"
	"fmt"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// ConditionRendered on a binding is False while some cluster's manifest cannot
// be made; it is absent as long as that never happened.
const ConditionRendered = "Rendered"

// Render is the Work that the cluster gets of the content that is in force.
func Render(b *propagation.Binding, content map[string]any, cluster *clusterv1alpha1.Cluster, overrides []propagation.Override) (*propagation.Work, error) {
	manifest, err := Manifest(content, cluster, b.Template(), overrides, replicasFor(b, cluster.Name))
	if err != nil {
		return nil, err
	}
	return Work(b, cluster.Name, manifest)
}

// replicasFor is the cluster's share; nil: the content says how many. A cluster
// that has the template only because others refer to it has no share.
func replicasFor(b *propagation.Binding, cluster string) *int32 {
	if b.Spec.Replicas == 0 {
		return nil
	}
	for _, t := range b.Spec.Clusters {
		if t.Name == cluster {
			return &t.Replicas
		}
	}
	return nil
}

// Manifest is what the cluster gets: the content, without what the hub assigned,
// with the cluster's replicas (nil: the content's), and overridden. An error is
// an *OverrideError.
func Manifest(content map[string]any, cluster *clusterv1alpha1.Cluster, template propagation.TemplateKey, overrides []propagation.Override, replicas *int32) (map[string]any, error) {
	obj, _ := clone(content).(map[string]any)
	if obj == nil {
		return nil, fmt.Errorf("the content of %s is empty", template)
	}
	Prune(obj)
	if replicas != nil {
		setReplicas(obj, *replicas)
	}
	labels := stringMap(child(obj, "metadata")["labels"])
	for _, o := range inForce(overrides, template, labels) {
		next, err := override(obj, o, cluster)
		if err != nil {
			return nil, err
		}
		if err := sameObject(obj, next); err != nil {
			return nil, &OverrideError{Override: o.Key, Err: err}
		}
		obj = next
	}
	return obj, nil
}

// setReplicas sets the number of replicas where the kind has one.
func setReplicas(obj map[string]any, n int32) {
	spec, ok := obj["spec"].(map[string]any)
	if !ok {
		return
	}
	if obj["kind"] == "Job" && group(obj) == "batch" {
		spec["parallelism"] = int64(n)
		return
	}
	if _, ok := spec["replicas"]; ok || scalable[group(obj)+"/"+text(obj["kind"])] {
		spec["replicas"] = int64(n)
	}
}

// The kinds whose replicas may be absent and still mean a number.
var scalable = map[string]bool{"apps/Deployment": true, "apps/StatefulSet": true, "apps/ReplicaSet": true, "/ReplicationController": true}

// sameObject says which part of the object's identity differs. The version of
// its API is none: a cluster may serve another.
func sameObject(a, b map[string]any) error {
	ma, mb := child(a, "metadata"), child(b, "metadata")
	switch {
	case group(a) != group(b) || a["kind"] != b["kind"]:
		return errors.New("changes the kind")
	case ma["name"] != mb["name"] || ma["namespace"] != mb["namespace"]:
		return errors.New("changes the name or the namespace")
	}
	return nil
}
