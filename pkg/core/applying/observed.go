// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/propagation"
)

// The labels and annotations that mark an object in a member as Sluice's, beside
// propagation.LabelMemberWork.
const (
	// AnnotationWork is "<namespace>/<name>" of its Work on the hub, for people.
	AnnotationWork = "sluice.dev/work-key"
	// AnnotationManifest is the hash of the manifest that was applied last. So the
	// object itself tells what the member has, also if the Work does not record it,
	// because of a crash or because its status is not written yet.
	AnnotationManifest = "sluice.dev/manifest-hash"
	// AnnotationHub names the hub of the object's Work: two hubs may share a member,
	// and have Works of the same name.
	AnnotationHub = "sluice.dev/hub"
	// LabelCreated, with the value "true", is on each namespace that Sluice created
	// because an object needed it. The template of that namespace may take it over.
	LabelCreated = "sluice.dev/created"
)

// WrittenBy reports whether the last write of an object in a member was certainly the
// hub's own: then nobody has to be told of it but by the one who wrote.
func WrittenBy(m *metav1.ObjectMeta, hub string) bool {
	return propagation.OwnWrite(m) && m.Annotations[AnnotationHub] == hub
}

// Observed is an object as a member has it. It is immutable.
type Observed struct {
	UID     types.UID
	Version string
	// Work is the value of propagation.LabelMemberWork; empty: the object is not
	// Sluice's.
	Work string
	// For is the uid of the Work that this process applied the object for; empty:
	// another process did.
	For types.UID
	// Hub is AnnotationHub; empty: there is none.
	Hub string
	// Manifest is AnnotationManifest.
	Manifest string
	Deleting bool
	// FieldsHash is the hash of Sluice's own entry in the managed fields: the fields
	// that still have the values it applied. Empty: there is no such entry.
	FieldsHash string
	// Object is the object without its managed fields. The data of ConfigMaps and
	// Secrets is left out, unless the whole object was asked for, so that the members'
	// secrets do not stay in memory.
	Object map[string]any
	// Partial reports that such data was left out.
	Partial bool
	// Others are the fields of the spec that others own, by the managed fields: one
	// entry for each owner.
	Others []map[string]any
	// Managers are all that set fields of the object, without those that set them by a
	// subresource, if the whole object was asked for.
	Managers []Manager
	// Changed names fields that the member has with other values than it was just asked
	// for (Changed).
	Changed string
	// At is when Sluice last changed the object, in whole seconds of the member's clock.
	At time.Time
	// Replicas says who else sets the number of replicas.
	Replicas ReplicasOwner
	// NodePorts reports that Sluice applied the node ports of the Service; otherwise
	// the member chose those it has.
	NodePorts bool
}

// Manager is somebody who sets fields of an object, and which.
type Manager struct {
	Name string
	// Applied: by server-side apply.
	Applied bool
	Fields  map[string]any
}

// ReplicasOwner says who else sets spec.replicas.
type ReplicasOwner int

// The owners.
const (
	NobodyElse ReplicasOwner = iota
	Somebody
	// Scaler is somebody who used the subresource scale: an autoscaler, or a person.
	Scaler
)

// Ours reports whether the object's label names that Work, by either of the two names
// that the binding's Work may have.
func (o *Observed) Ours(w *propagation.Work) bool {
	return o.Work != "" && slices.Contains(w.Owners(), o.Work)
}

// Observe returns obj as Observed. Unless whole is set, the data of a ConfigMap or
// Secret is left out.
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
			if whole {
				o.manage(entry)
			}
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

// note evaluates one entry of the managed fields.
func (o *Observed) note(entry map[string]any) {
	fields, _ := entry["fieldsV1"].(map[string]any)
	spec, _ := fields["f:spec"].(map[string]any)
	if own(entry) {
		o.FieldsHash = propagation.HashJSON(fields)
		at, _ := entry["time"].(string)
		o.At, _ = time.Parse(time.RFC3339, at) // zero: long ago
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

// own reports whether the entry of the managed fields is what Sluice has applied.
func own(entry map[string]any) bool {
	return entry["manager"] == propagation.FieldManager && entry["operation"] == "Apply" && (entry["subresource"] == nil || entry["subresource"] == "")
}

// manage adds an entry of the managed fields to the managers.
func (o *Observed) manage(entry map[string]any) {
	name, _ := entry["manager"].(string)
	fields, _ := entry["fieldsV1"].(map[string]any)
	if by, _ := entry["subresource"].(string); by == "" {
		o.Managers = append(o.Managers, Manager{name, entry["operation"] == "Apply", fields})
	}
}
