// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Others are the other Works of a member that want an object, by the object's ID.
type Others map[string]propagation.WorkKey

// WantedBy returns the IDs of the objects that the Work wants its member to have. There
// are none if the Work is being deleted or only reports differences.
func WantedBy(w *propagation.Work) []string {
	if w.Deleting || w.Strategy != nil && w.Strategy.Type == placementv1.ApplyStrategyTypeReportDiff {
		return nil
	}
	return ObjectsOf(w)
}

// ObjectsOf returns the IDs of the objects in the Work's manifests. Manifests that cannot
// be decoded are skipped.
func ObjectsOf(w *propagation.Work) []string {
	var ids []string
	for _, m := range w.Spec.Workload.Manifests {
		var obj map[string]any
		if err := json.Unmarshal(m.Raw, &obj); err == nil {
			ids = append(ids, propagation.KeyOf(obj).ID())
		}
	}
	return ids
}

// KeyOf returns the object that a Work's result is about.
func KeyOf(i placementv1.WorkResourceIdentifier) propagation.TemplateKey {
	apiVersion := i.Version
	if i.Group != "" {
		apiVersion = i.Group + "/" + i.Version
	}
	return propagation.TemplateKey{APIVersion: apiVersion, Kind: i.Kind, Namespace: i.Namespace, Name: i.Name}
}

// Rival reports whether o may want what w has: it is a Work for the same member, and of
// another placement or binding. Works of the same placement or binding are not rivals:
// their owner decides among them.
func Rival(w, o *propagation.Work) bool {
	switch {
	case o.Deleting || o.Key.Cluster != w.Key.Cluster || o.Key == w.Key:
		return false
	case o.Key.Form != w.Key.Form:
		return true
	case o.Key.Form == propagation.PlacementForm:
		return o.Placement() != w.Placement()
	}
	return o.Binding() != w.Binding()
}

// alone completes a finding that the object may leave. It stays a proof only if it is
// known who else wants the object. If another Work does, that one becomes the heir.
func (f Finding) alone(others Read[Others], object propagation.TemplateKey) Finding {
	if !f.Proof.Holds() {
		return f
	}
	if others.Answer != Found {
		return Finding{AsksOthers: others.Why == "", Reason: ReasonCannotTell, Message: "whether another Work wants it cannot be told: " + because(others)}
	}
	if heir, wanted := others.Value[object.ID()]; wanted {
		f.Heir = &heir
	}
	return f
}

// Passing is the permission to mark one object of a member as another Work's, or,
// without an heir, as nobody's. The zero Passing permits nothing.
type Passing struct {
	uid     types.UID
	version string
	heir    *propagation.WorkKey
}

// Permits reports whether the object may be passed on.
func (p Passing) Permits() bool { return p.uid != "" && p.version != "" }

// UID is the object's uid.
func (p Passing) UID() types.UID { return p.uid }

// Version is the resourceVersion of the object as it was read. If it has another one by
// now, it is not passed on.
func (p Passing) Version() string { return p.version }

// Heir is the Work that gets the object; nil: no Work does.
func (p Passing) Heir() *propagation.WorkKey { return p.heir }

// Marks returns the labels and annotations to change. The hash of the manifest is
// removed, so that the heir applies its own.
func (p Passing) Marks() map[string]any {
	if p.heir == nil {
		return map[string]any{
			"labels":      map[string]any{propagation.LabelMemberWork: nil, workv1alpha1.LabelManaged: nil},
			"annotations": map[string]any{AnnotationWork: nil, AnnotationManifest: nil, AnnotationHub: nil},
		}
	}
	return map[string]any{
		"labels":      map[string]any{propagation.LabelMemberWork: p.heir.Owner()},
		"annotations": map[string]any{AnnotationWork: p.heir.Namespace() + "/" + p.heir.Name, AnnotationManifest: nil},
	}
}

// preserve leaves the object in the member. An object of a placement is marked as
// nobody's: a later placement has another Work name, and would take the object for
// somebody else's. The Work of a policy's template has the same name again if the
// template is created again.
func (in Input) preserve() Decision {
	d := decision(Release, ReasonPreserved, messages[ReasonPreserved])
	if in.Work.Placement() != "" && in.Live.Answer == Found && whose(in) == ours {
		d.passing = Passing{uid: in.Live.Value.UID, version: in.Live.Value.Version}
	}
	return d
}

// pass gives the object to the heir.
func (in Input) pass() Decision {
	u := unstructured.Unstructured{Object: in.Live.Value.Object}
	d := decision(Pass, ReasonPassedOn, u.GetKind()+" "+u.GetName()+" is wanted by "+in.Finding.Heir.String()+", and stays as it is")
	d.passing = Passing{uid: in.Live.Value.UID, version: in.Live.Value.Version, heir: in.Finding.Heir}
	return d
}
