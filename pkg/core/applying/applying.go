// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Action is what happens to the object in the member.
type Action string

// The actions.
const (
	// Apply the manifest.
	Apply Action = "Apply"
	// Adopt the object, which was not Sluice's, by applying the manifest.
	Adopt Action = "Adopt"
	// Keep the object: there is nothing to change.
	Keep Action = "Keep"
	// Wait: what has to be done is not known, or must not be done now.
	Wait Action = "Wait"
	// Remove the object from the member.
	Remove Action = "Remove"
	// Release the object: if it exists it stays, and no longer belongs to the Work.
	Release Action = "Release"
	// Pass the object on to another Work that wants it.
	Pass Action = "Pass"
)

// TakeOver says when an object that is not Sluice's may be taken over.
type TakeOver string

// The strategies. The zero value means Never.
const (
	TakeOverNever TakeOver = "Never"
	// TakeOverIfNoDiff: if the object already has everything that the manifest asks
	// for.
	TakeOverIfNoDiff TakeOver = "IfNoDiff"
	TakeOverAlways   TakeOver = "Always"
)

// When says when the manifest is applied to an object that belongs to the Work.
type When string

// The strategies. The zero value means Always.
const (
	WhenAlways When = "Always"
	// WhenNotDrifted: unless somebody else changed a field that Sluice applied; that is
	// then only reported.
	WhenNotDrifted When = "IfNotDrifted"
	// WhenNever: differences are reported, and nothing is written.
	WhenNever When = "Never"
)

// Input is everything that a decision depends on.
type Input struct {
	// Work is the object's Work as it was read, Manifest the object's manifest.
	Work     *propagation.Work
	Manifest map[string]any
	// Known is the state that the Work records as applied last (KnownOf); nil: none
	// yet.
	Known *workv1alpha1.AppliedState
	// Live is the object as the member has it.
	Live Read[*Observed]
	// Remembered reports that Live is what a watch told last, and was not read now: the
	// object may be removed only if it still is in that version.
	Remembered bool
	// Hub is the identity of this hub, as in AnnotationHub; empty: that annotation is
	// not checked.
	Hub string
	// Held says what suspends the Work; empty: nothing.
	Held string
	// Blocking reports that the Work's namespace, or the kind Work itself, is being
	// deleted, too: as long as the Work stays, nothing new reaches the member (or any
	// member).
	Blocking bool
	// Ended reports that the object finished in the member, and need not exist any more
	// (Finished).
	Ended    bool
	TakeOver TakeOver
	When     When

	// Leaving reports that the object has to go as far as the Work is concerned: the
	// Work is being deleted, or lost the manifest. Finding is what the hub says about
	// that.
	Leaving bool
	Finding Finding
	// Inside lists the objects that would be deleted with this one, if it is a Holder:
	// those that the removal does not account for, and those that have to leave first
	// (Account.Counts).
	Inside Read[[]Inhabitant]
}

// Decision is what happens to the object, and why.
type Decision struct {
	Action  Action
	Reason  Reason
	Message string
	// State is what the Work has to record of an object that is kept.
	State workv1alpha1.AppliedState
	// Last is the last state of an object that finished and is gone, if the Work does
	// not record it yet.
	Last *Observed
	// Other is the mark of the Work that the object belongs to, if that is another one;
	// OtherHub is that Work's hub, if that is another one.
	Other, OtherHub string
	// Lost: the Work had the object before the other one, so no strategy takes it back.
	Lost bool
	// AsksInside: the decision would be Remove, but Input.Inside was not read.
	AsksInside bool

	removal Removal
	passing Passing
}

// Drift reports whether the object is not, or no longer, what was applied. The applier
// has to repair that, or say that it cannot.
func (d Decision) Drift() bool {
	switch d.Reason {
	case ReasonDrifted, ReasonMissing, ReasonMarksMissing, ReasonMarksOld, ReasonNotOurs, ReasonTerminating:
		return true
	}
	return false
}

// Writes reports whether the manifest has to be applied.
func (d Decision) Writes() bool { return d.Action == Apply || d.Action == Adopt }

// Removal returns the permission to delete the object; false if the decision does not
// permit that.
func (d Decision) Removal() (Removal, bool) { return d.removal, d.removal.Permits() }

// Passing returns the permission to mark the object as another Work's, or as nobody's;
// false if the decision does not permit that.
func (d Decision) Passing() (Passing, bool) { return d.passing, d.passing.Permits() }

// Removal is the permission to delete one object from one member, and no other object
// of that name. The zero Removal permits nothing.
type Removal struct {
	uid     types.UID
	version string
	work    string
	proof   Proof
}

// Permits reports whether the object may be deleted.
func (r Removal) Permits() bool { return r.proof.Holds() && r.uid != "" && r.work != "" }

// UID is the object's uid.
func (r Removal) UID() types.UID { return r.uid }

// Version is the version in which the object may be deleted; empty: in any.
func (r Removal) Version() string { return r.version }

// Work is the value of LabelMemberWork that the object must have.
func (r Removal) Work() string { return r.work }

// Proof is the proof that the object may leave.
func (r Removal) Proof() Proof { return r.proof }

// Decide returns what happens to the object.
func Decide(in Input) Decision {
	switch {
	case in.Leaving:
		return leave(in)
	case in.Held != "":
		return decision(Wait, ReasonHeld, in.Held)
	case in.Live.Answer == NotServed:
		return decision(Wait, ReasonKindNotServed, in.Live.Why)
	case in.Live.Answer == CannotTell:
		return decision(Wait, ReasonCannotTell, in.Live.Why)
	case in.last() != nil:
		return in.finished(in.last())
	case in.Live.Answer == Absent && in.Ended:
		return in.finished(nil)
	case in.Live.Answer == Absent:
		return in.write(Apply, ReasonMissing)
	case in.Live.Value.Deleting && Over(in.Live.Value.Object) && whose(in) == ours:
		return in.finished(in.Live.Value)
	case in.Live.Value.Deleting:
		return decision(Wait, ReasonTerminating, messages[ReasonTerminating])
	}
	switch whose(in) {
	case somebodys:
		return in.another()
	case takeable:
		return in.write(Adopt, ReasonTakenOver)
	case unmarked:
		return in.drifted(ReasonMarksMissing)
	}
	if in.Live.Value.Work != in.Work.Key.Owner() {
		return in.drifted(ReasonMarksOld)
	}
	return stay(in)
}

// WithoutContent returns the decision for a Secret whose content is missing: the member
// keeps what it has, since its desired state is not known.
func WithoutContent() Decision {
	return decision(Wait, ReasonContentMissing, messages[ReasonContentMissing])
}

// WithoutTemplate returns the decision for the object of a Work that is nobody's.
func WithoutTemplate() Decision {
	return decision(Wait, ReasonUnknownTemplate, messages[ReasonUnknownTemplate]+": nothing in it is applied")
}

// another leaves an object of somebody else alone, and says whose it is.
func (in Input) another() Decision {
	d := decision(Wait, ReasonNotOurs, messages[ReasonNotOurs])
	d.Other = in.Live.Value.Work
	d.Lost = in.Known != nil && in.Known.UID == in.Live.Value.UID
	if in.elsewhere() {
		d.OtherHub = in.Live.Value.Hub
	}
	return d
}

// elsewhere reports whether the object is marked as another hub's.
func (in Input) elsewhere() bool {
	return in.Hub != "" && in.Live.Value.Hub != "" && in.Live.Value.Hub != in.Hub
}

// stay decides about an object that exists and is the Work's.
func stay(in Input) Decision {
	o, hash := in.Live.Value, propagation.ManifestHash(in.Manifest)
	switch {
	case recorded(in, hash) && !drifted(in):
		return Decision{Action: Keep, Reason: ReasonApplied, State: *in.Known}
	case recorded(in, hash) && o.UID == in.Known.UID && intact(in.Manifest, o): // somebody put back what he had changed
		return in.write(Apply, ReasonDrifted)
	case recorded(in, hash):
		return in.drifted(ReasonDrifted)
	case marked(in, hash) && intact(in.Manifest, o):
		return Decision{Action: Keep, Reason: ReasonUnrecorded, State: workv1alpha1.AppliedState{ManifestHash: hash, FieldsHash: o.FieldsHash, UID: o.UID}}
	case marked(in, hash) && !o.Partial:
		return in.drifted(ReasonDrifted)
	case in.When == WhenNotDrifted && in.Known != nil && drifted(in):
		return in.drifted(ReasonDrifted)
	}
	return in.write(Apply, ReasonChanged)
}

// drifted repairs the object, unless drift is only to be reported.
func (in Input) drifted(why Reason) Decision {
	if in.When == WhenNotDrifted {
		return decision(Wait, why, messages[why])
	}
	return in.write(Apply, why)
}

// Overtaken reports whether the object was applied in a form that the Work does not
// record: by another process, which may have read a newer version of the Work.
func (in Input) Overtaken() bool {
	o := in.Live.Value
	if in.Live.Answer != Found || o.Manifest == "" || whose(in) != ours {
		return false
	}
	return o.Manifest != propagation.ManifestHash(in.Manifest) && (in.Known == nil || o.Manifest != in.Known.ManifestHash)
}

// write applies the manifest, unless the strategy forbids all writes.
func (in Input) write(a Action, why Reason) Decision {
	if in.When == WhenNever {
		a = Wait
	}
	return decision(a, why, messages[why])
}

// finished keeps an object that finished. last is its last state; nil: the Work's
// record is all that is known.
func (in Input) finished(last *Observed) Decision {
	d := Decision{Action: Keep, Reason: ReasonFinished, Message: messages[ReasonFinished], State: in.known(), Last: last}
	if last != nil && in.Known == nil {
		d.State.FieldsHash, d.State.UID = last.FieldsHash, last.UID
	}
	return d
}

func (in Input) known() workv1alpha1.AppliedState {
	if in.Known == nil {
		return workv1alpha1.AppliedState{ManifestHash: propagation.ManifestHash(in.Manifest)}
	}
	return *in.Known
}

// leave decides about an object that has to go. A suspension holds the removal back,
// unless the template itself is gone.
func leave(in Input) Decision {
	f, o := in.Finding, in.Live
	keep := in.Work.Spec.PreserveResourcesOnDeletion
	switch {
	case f.Left, f.Elsewhere, f.Abandoned, f.Reason == ReasonBindingsNotServed:
		return decision(Release, f.Reason, f.Message)
	case f.Untold && in.Blocking:
		return decision(Release, ReasonWorksLeaving, messages[ReasonWorksLeaving])
	case !f.Proof.Holds():
		return decision(Wait, f.Reason, f.Message)
	case f.Proof.template && keep != nil && *keep && f.Heir == nil:
		return in.preserve()
	case in.Held != "" && f.Reason == ReasonLeftOut && in.Blocking:
		return decision(Release, ReasonWorksLeaving, messages[ReasonWorksLeaving])
	case in.Held != "" && f.Reason == ReasonLeftOut:
		return decision(Wait, ReasonHeld, in.Held)
	case o.Answer == Absent:
		return decision(Release, ReasonDeleted, f.Message)
	case o.Answer == NotServed && in.Blocking:
		return decision(Release, ReasonWorksLeaving, messages[ReasonWorksLeaving])
	case o.Answer == NotServed:
		return decision(Wait, ReasonKindNotServed, o.Why)
	case o.Answer == CannotTell:
		return decision(Wait, ReasonCannotTell, o.Why)
	case whose(in) != ours:
		return decision(Release, ReasonNotOurs, messages[ReasonNotOurs])
	case o.Value.Deleting && in.Blocking:
		return decision(Release, ReasonTerminating, messages[ReasonTerminating])
	case o.Value.Deleting:
		return decision(Wait, ReasonTerminating, messages[ReasonTerminating])
	}
	if f.Heir != nil {
		return in.pass()
	}
	if d, held := in.holds(); held {
		return d
	}
	d := decision(Remove, f.Reason, f.Message)
	d.removal = Removal{uid: o.Value.UID, work: o.Value.Work, proof: f.Proof}
	if in.Remembered {
		d.removal.version = o.Value.Version
	}
	return d
}

func decision(a Action, r Reason, message string) Decision {
	return Decision{Action: a, Reason: r, Message: message}
}
