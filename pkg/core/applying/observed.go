// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/propagation"
)

// The marks of an object in a member, beside propagation.LabelMemberWork.
const (
	// AnnotationWork is "<namespace>/<name>" of its Work on the hub, for people.
	AnnotationWork = "sluice.dev/work-key"
	// AnnotationManifest is the hash of the manifest that was applied last: what
	// the member has can be told from the object itself, also where a crash, or
	// patience, kept the Work from saying so.
	AnnotationManifest = "sluice.dev/manifest-hash"
	// AnnotationHub names the hub of its Work: two hubs may share a member, and
	// Works of one name.
	AnnotationHub = "sluice.dev/hub"
	// LabelCreated, with the value "true", is on each namespace that Sluice made
	// because an object needed it: the template of that namespace may take it over.
	LabelCreated = "sluice.dev/created"
)

// Observed is an object as a member has it. It is never changed.
type Observed struct {
	UID     types.UID
	Version string
	// Work that the object comes from; empty: it is not ours.
	Work string
	// For is the uid of the Work that this process applied it for; empty: another did.
	For types.UID
	// Hub is AnnotationHub; empty: nobody said.
	Hub string
	// Manifest is AnnotationManifest.
	Manifest string
	Deleting bool
	// FieldsHash is the hash of our own entry in the managed fields: which
	// fields are as we applied them. Empty: there is no such entry.
	FieldsHash string
	// Object is without its managed fields, and without the data of ConfigMaps
	// and Secrets, but where it was asked for as a whole: nobody needs to have
	// the members' secrets in memory.
	Object map[string]any
	// Partial tells that it had such data.
	Partial bool
	// Others are the fields of the spec that somebody else owns, as managed fields say,
	// one entry for each who does.
	Others []map[string]any
	// Replicas tells who sets the number of replicas beside us.
	Replicas ReplicasOwner
	// NodePorts tells that the node ports of a Service are as we applied them: else
	// the member chose those that there are.
	NodePorts bool
}

// ReplicasOwner is somebody else who sets spec.replicas.
type ReplicasOwner int

// The owners.
const (
	NobodyElse ReplicasOwner = iota
	Somebody
	// Scaler did so by way of the subresource scale: an autoscaler, or a person.
	Scaler
)

// Ours tells whether the object says that it comes from that Work, or from one of the
// other name that its binding's Work may have.
func (o *Observed) Ours(w *propagation.Work) bool {
	return o.Work != "" && slices.Contains(w.Owners(), o.Work)
}

// Observe takes over obj, without the data of a ConfigMap or Secret unless it is
// to be whole.
func Observe(obj map[string]any, whole bool) *Observed {
	u := unstructured.Unstructured{Object: obj}
	o := &Observed{
		UID:      u.GetUID(),
		Version:  u.GetResourceVersion(),
		Work:     u.GetLabels()[propagation.LabelMemberWork],
		Hub:      u.GetAnnotations()[AnnotationHub],
		Manifest: u.GetAnnotations()[AnnotationManifest],
		Deleting: u.GetDeletionTimestamp() != nil,
		Object:   obj,
	}
	meta, _ := obj["metadata"].(map[string]any)
	entries, _ := meta["managedFields"].([]any)
	for _, e := range entries {
		if entry, ok := e.(map[string]any); ok {
			o.note(entry)
		}
	}
	delete(meta, "managedFields")
	if kind := u.GetKind(); !whole && u.GetAPIVersion() == "v1" && (kind == "ConfigMap" || kind == "Secret") {
		for _, k := range []string{"data", "binaryData", "stringData"} {
			o.Partial = o.Partial || obj[k] != nil
			delete(obj, k)
		}
	}
	return o
}

// note reads one entry of the managed fields.
func (o *Observed) note(entry map[string]any) {
	fields, _ := entry["fieldsV1"].(map[string]any)
	spec, _ := fields["f:spec"].(map[string]any)
	if entry["manager"] == propagation.FieldManager && entry["operation"] == "Apply" && (entry["subresource"] == nil || entry["subresource"] == "") {
		o.FieldsHash = propagation.HashJSON(fields)
		o.NodePorts = setsNodePorts(spec)
		return
	}
	if spec != nil {
		o.Others = append(o.Others, spec)
	}
	if _, sets := spec["f:replicas"]; !sets {
		return
	}
	owner := Somebody
	if entry["subresource"] == "scale" {
		owner = Scaler
	}
	o.Replicas = max(o.Replicas, owner)
}
