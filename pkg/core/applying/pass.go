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

// Others are the Works of one member that want objects of which another Work may let go,
// by the ID of the object.
type Others map[string]propagation.WorkKey

// WantedBy are the objects that the Work wants its member to have, by their IDs: none if
// it is on its way out, or only to tell of differences. What cannot be read it does not
// want.
func WantedBy(w *propagation.Work) []string {
	if w.Deleting || w.Strategy != nil && w.Strategy.Type == placementv1.ApplyStrategyTypeReportDiff {
		return nil
	}
	var ids []string
	for _, m := range w.Spec.Workload.Manifests {
		var obj map[string]any
		if err := json.Unmarshal(m.Raw, &obj); err == nil {
			ids = append(ids, propagation.KeyOf(obj).ID())
		}
	}
	return ids
}

// Rival tells whether o may want what w has: it is another's, in the same member. What
// the same placement, or the same binding, gives by another of its Works is told by these
// themselves.
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

// alone completes a finding that the object may leave: only who knows who else wants it
// has proof of that. Where another Work does, that one gets it as it is.
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

// Passing permits to mark one object of a member as another Work's, or, without an heir,
// as nobody's. The zero Passing permits nothing.
type Passing struct {
	uid     types.UID
	version string
	heir    *propagation.WorkKey
}

// Permits tells whether anything may be passed on.
func (p Passing) Permits() bool { return p.uid != "" && p.version != "" }

// UID and Version of the object, which has to be as it was looked at.
func (p Passing) UID() types.UID { return p.uid }

// Version of the object then; another one is passed on by nobody.
func (p Passing) Version() string { return p.version }

// Heir is the Work that has the object from then on; nil: none has.
func (p Passing) Heir() *propagation.WorkKey { return p.heir }

// Marks are what of the metadata changes. Without the hash of a manifest, the heir
// applies its own.
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

// preserve leaves the object in the member. One of a placement is nobody's from then on:
// whatever places it next has another name, and would find it to be another's. The Work of
// a policy's template has the same name when the template is made anew.
func (in Input) preserve() Decision {
	d := decision(Release, ReasonPreserved, messages[ReasonPreserved])
	if in.Work.Placement() != "" && in.Live.Answer == Found && whose(in) == ours {
		d.passing = Passing{uid: in.Live.Value.UID, version: in.Live.Value.Version}
	}
	return d
}

// pass lets the heir have the object.
func (in Input) pass() Decision {
	u := unstructured.Unstructured{Object: in.Live.Value.Object}
	d := decision(Pass, ReasonPassedOn, u.GetKind()+" "+u.GetName()+" is wanted by "+in.Finding.Heir.String()+", and stays as it is")
	d.passing = Passing{uid: in.Live.Value.UID, version: in.Live.Value.Version, heir: in.Finding.Heir}
	return d
}
