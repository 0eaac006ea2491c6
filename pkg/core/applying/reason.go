// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

// Reason is the reason of a decision. Where the member does not have what the Work says,
// it becomes the reason of the Work's condition Applied.
type Reason string

// Why an object is as it has to be.
const (
	ReasonApplied Reason = "AppliedSuccessful"
	// ReasonUnrecorded: it is, and the Work does not record that yet.
	ReasonUnrecorded Reason = "Unrecorded"
	// ReasonFinished: it finished, and was removed for that reason.
	ReasonFinished Reason = "Finished"
)

// Why a manifest is applied.
const (
	ReasonMissing      Reason = "Missing"
	ReasonChanged      Reason = "ManifestChanged"
	ReasonDrifted      Reason = "Drifted"
	ReasonMarksMissing Reason = "MarksMissing"
	// ReasonMarksOld: the label names the Work by the other one of the two names that
	// the binding's Work may have.
	ReasonMarksOld  Reason = "MarksOld"
	ReasonTakenOver Reason = "TakenOver"
)

// Why nothing can be done but wait.
const (
	ReasonHeld          Reason = "SuspendDispatching"
	ReasonKindNotServed Reason = "KindNotServed"
	ReasonNotOurs       Reason = "ExistsAndIsNotOurs"
	// ReasonTerminating: the object is being deleted in the member, and something, such
	// as a finalizer, delays that.
	ReasonTerminating    Reason = "ObjectTerminating"
	ReasonCannotTell     Reason = "CannotTell"
	ReasonBindingMissing Reason = "BindingMissing"
	// ReasonContentMissing: the content of a Secret is missing beside its Work, or is
	// another Work's. It is restored.
	ReasonContentMissing Reason = "ContentMissing"
	// ReasonUnknownTemplate: the Work's name is not that of Works of the template that it
	// names, so it is nobody's (propagation.Work.Confirmed).
	ReasonUnknownTemplate Reason = "UnknownTemplate"
	// ReasonMayReturn: the template of a dependency was deleted a moment ago.
	ReasonMayReturn Reason = "TemplateMayReturn"
	// ReasonHoldsOthers: objects of others would be deleted with the object.
	ReasonHoldsOthers Reason = "HoldsOthers"
	// ReasonInsideLeaves: other objects of the placement are inside it, and are removed
	// first.
	ReasonInsideLeaves Reason = "InsideLeaves"
)

// Why an object has to leave.
const (
	ReasonTemplateGone     Reason = "TemplateGone"
	ReasonTemplateDeleting Reason = "TemplateDeleting"
	ReasonTemplateReplaced Reason = "TemplateReplaced"
	ReasonLeftOut          Reason = "LeftOut"
)

// Why an object is released without being deleted.
const (
	ReasonWanted Reason = "Wanted"
	// ReasonSuperseded: the Work has its binding's former Work name, and one with the
	// present name exists.
	ReasonSuperseded Reason = "Superseded"
	// ReasonSameMember: the member is joined under another name, too, and has the
	// object under that.
	ReasonSameMember Reason = "SameMember"
	// ReasonAbandoned: the binding is gone or was created again, and nothing will tell
	// whether the member needs the object.
	ReasonAbandoned Reason = "Abandoned"
	// ReasonWorksLeaving: the removal would have to wait for a suspension or an
	// approval, for a kind that the member does not serve, or for the hub to tell of the
	// template, and must not: the namespace of the Work, or the kind Work, is being
	// deleted.
	ReasonWorksLeaving Reason = "WorksLeaving"
	ReasonPreserved    Reason = "Preserved"
	// ReasonPassedOn: another Work wants the object, and has it now.
	ReasonPassedOn          Reason = "PassedOn"
	ReasonDeleted           Reason = "Deleted"
	ReasonClusterLeft       Reason = "ClusterLeft"
	ReasonBindingsNotServed Reason = "BindingsNotServed"
	ReasonPlacementMissing  Reason = "PlacementMissing"
	ReasonPlacementsRetired Reason = "PlacementsRetired"
)

var messages = map[Reason]string{
	ReasonContentMissing:   "the content of the Secret is not kept beside its Work, and is being put back",
	ReasonUnknownTemplate:  "the Work does not say whose it is",
	ReasonFinished:         "the Job has finished, and the member removed it",
	ReasonMissing:          "the member does not have it",
	ReasonChanged:          "the Work says something else than was applied",
	ReasonDrifted:          "somebody else changed what was applied",
	ReasonMarksMissing:     "somebody else took off the mark of its Work",
	ReasonMarksOld:         "its mark names its Work by the other name of the two that its binding's had",
	ReasonSuperseded:       "the Work of its binding's present name has it",
	ReasonTakenOver:        "it was not Sluice's, and is taken over",
	ReasonAbandoned:        "the binding is gone, and no policy acts on the template as it is: the object stays, and is nobody's",
	ReasonWorksLeaving:     "its removal is held, and the namespace or the kind of its Work is being deleted: the object stays, and is nobody's",
	ReasonNotOurs:          "it belongs to somebody else",
	ReasonTerminating:      "it is being deleted in the member, and something keeps it there",
	ReasonPreserved:        "its template is gone, and it is to be preserved",
	ReasonTemplateGone:     "its template is gone",
	ReasonTemplateDeleting: "its template is being deleted",
	ReasonTemplateReplaced: "its template was deleted and made anew",
}
