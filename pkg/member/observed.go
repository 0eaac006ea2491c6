// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/propagation"
)

// Observed is an object as a member has it. It is never changed.
type Observed struct {
	UID     types.UID
	Version string
	// Work that the object comes from; empty: it is not ours.
	Work string
	// Manifest is AnnotationManifest.
	Manifest string
	Deleting bool
	// FieldsHash is the hash of our own entry in the managed fields: which
	// fields are as we applied them. Empty: there is no such entry.
	FieldsHash string
	// Object is without its managed fields, and without the data of ConfigMaps
	// and Secrets: nobody needs to have the members' secrets in memory.
	Object map[string]any
	// Partial tells that it had such data.
	Partial bool

	// replicas tells who sets the number of replicas beside us.
	replicas replicasOwner
}

// replicasOwner is somebody else who sets spec.replicas.
type replicasOwner int

const (
	nobodyElse replicasOwner = iota
	somebody
	// scaler did so by way of the subresource scale: an autoscaler, or a person.
	scaler
)

// Ours tells whether the object comes from that Work.
func (o *Observed) Ours(workName string) bool { return workName != "" && o.Work == workName }

// observe takes over obj.
func observe(obj *unstructured.Unstructured) *Observed {
	o := &Observed{
		UID:      obj.GetUID(),
		Version:  obj.GetResourceVersion(),
		Work:     obj.GetLabels()[propagation.LabelMemberWork],
		Manifest: obj.GetAnnotations()[AnnotationManifest],
		Deleting: obj.GetDeletionTimestamp() != nil,
		Object:   obj.Object,
	}
	meta, _ := obj.Object["metadata"].(map[string]any)
	entries, _ := meta["managedFields"].([]any)
	for _, e := range entries {
		if entry, ok := e.(map[string]any); ok {
			o.note(entry)
		}
	}
	delete(meta, "managedFields")
	if kind := obj.GetKind(); obj.GetAPIVersion() == "v1" && (kind == "ConfigMap" || kind == "Secret") {
		for _, k := range []string{"data", "binaryData", "stringData"} {
			o.Partial = o.Partial || obj.Object[k] != nil
			delete(obj.Object, k)
		}
	}
	return o
}

// note reads one entry of the managed fields.
func (o *Observed) note(entry map[string]any) {
	fields, _ := entry["fieldsV1"].(map[string]any)
	if entry["manager"] == propagation.FieldManager && entry["operation"] == "Apply" && (entry["subresource"] == nil || entry["subresource"] == "") {
		o.FieldsHash = propagation.HashJSON(fields)
		return
	}
	spec, _ := fields["f:spec"].(map[string]any)
	if _, sets := spec["f:replicas"]; !sets {
		return
	}
	owner := somebody
	if entry["subresource"] == "scale" {
		owner = scaler
	}
	o.replicas = max(o.replicas, owner)
}
