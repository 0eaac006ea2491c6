// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

import (
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Action is what happens to the object.
type Action string

// The actions.
const (
	// Apply the manifest.
	Apply Action = "Apply"
	// Adopt the object, which was not ours, by applying the manifest.
	Adopt Action = "Adopt"
	// Keep the object: there is nothing to change.
	Keep Action = "Keep"
	// Wait: it cannot be told what has to be done, or must not be done now.
	Wait Action = "Wait"
	// Remove the object from the member.
	Remove Action = "Remove"
	// Release the object: it stays, if it is there, and is no more the Work's.
	Release Action = "Release"
	// Pass the object on to another Work, which wants it.
	Pass Action = "Pass"
)

// TakeOver says when an object that is not ours may become ours.
type TakeOver string

// The strategies. The zero one is Never.
const (
	TakeOverNever TakeOver = "Never"
	// TakeOverIfNoDiff: if it says all that the manifest asks for.
	TakeOverIfNoDiff TakeOver = "IfNoDiff"
	TakeOverAlways   TakeOver = "Always"
)

// When says when the manifest is applied to an object that is ours.
type When string

// The strategies. The zero one is Always.
const (
	WhenAlways When = "Always"
	// WhenNotDrifted: unless somebody else changed a field of ours, which then
	// is only told.
	WhenNotDrifted When = "IfNotDrifted"
	// WhenNever: differences are told, and nothing is written.
	WhenNever When = "Never"
)

// Input is all that a decision depends on.
type Input struct {
	// Work of the object, as it was read, and the object's manifest.
	Work     *propagation.Work
	Manifest map[string]any
	// Known is what the Work says was applied last (KnownOf); nil: nothing yet.
	Known *workv1alpha1.AppliedState
	// Live is the object as the member has it.
	Live Read[*Observed]
	// Hub is the mark of this hub; empty: the marks of hubs are not looked at.
	Hub string
	// Held says what suspends the Work; empty: nothing.
	Held string
	// Blocking: with the Work its namespace, or its kind, is being deleted, and until the
	// Work is gone nobody gets anything new.
	Blocking bool
	// Ended tells that the object came to its end in the member, and does not have
	// to be there any more (Finished).
	Ended    bool
	TakeOver TakeOver
	When     When

	// Leaving tells that the object shall not be there any more, as far as the
	// Work says: the Work is being deleted, or lost the manifest. Finding is what
	// the hub says of that.
	Leaving bool
	Finding Finding
	// Inside is what an object holds that leaves, where others go with it: those for
	// which the removal does not account (Account.Counts), and those that leave before it.
	Inside Read[[]Inhabitant]
}

// Decision is what happens to the object, and why.
type Decision struct {
	Action  Action
	Reason  Reason
	Message string
	// State is what the Work has to say of an object that is kept.
	State workv1alpha1.AppliedState
	// Last is an object that has come to its end as it was last, where the Work does
	// not have to say so already.
	Last *Observed
	// Other is the Work that the object belongs to, where that is another, and
	// OtherHub the hub of that, where that is.
	Other, OtherHub string
	// AsksInside: the object would leave, if it is known what it holds.
	AsksInside bool

	removal Removal
	passing Passing
}

// Drift tells whether the object is not, or no more, what was applied: it is for
// the applier to put right, or to say that it cannot.
func (d Decision) Drift() bool {
	switch d.Reason {
	case ReasonDrifted, ReasonMissing, ReasonMarksMissing, ReasonMarksOld, ReasonNotOurs, ReasonTerminating:
		return true
	}
	return false
}

// Writes tells whether the manifest has to be applied.
func (d Decision) Writes() bool { return d.Action == Apply || d.Action == Adopt }

// Removal returns the permission to delete the object; false where the decision does not
// permit that.
func (d Decision) Removal() (Removal, bool) { return d.removal, d.removal.Permits() }

// Passing returns the permission to mark the object as another's, or nobody's; false where the decision
// does not permit that.
func (d Decision) Passing() (Passing, bool) { return d.passing, d.passing.Permits() }

// Removal permits to delete one object of one member, and no other of its name.
// The zero Removal permits nothing.
type Removal struct {
	uid   types.UID
	work  string
	proof Proof
}

// Permits tells whether anything may be deleted.
func (r Removal) Permits() bool { return r.proof.Holds() && r.uid != "" && r.work != "" }

// UID of the object.
func (r Removal) UID() types.UID { return r.uid }

// Work whose label the object has to have.
func (r Removal) Work() string { return r.work }

// Proof of the removal.
func (r Removal) Proof() Proof { return r.proof }

// Decide tells what happens to the object.
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

// another leaves alone what is somebody else's, and says whose.
func (in Input) another() Decision {
	d := decision(Wait, ReasonNotOurs, messages[ReasonNotOurs])
	d.Other = in.Live.Value.Work
	if in.elsewhere() {
		d.OtherHub = in.Live.Value.Hub
	}
	return d
}

// elsewhere tells whether the object is marked as another hub's.
func (in Input) elsewhere() bool {
	return in.Hub != "" && in.Live.Value.Hub != "" && in.Live.Value.Hub != in.Hub
}

// stay decides about an object that is there and ours.
func stay(in Input) Decision {
	o, hash := in.Live.Value, propagation.ManifestHash(in.Manifest)
	switch {
	case recorded(in, hash) && !drifted(in):
		return Decision{Action: Keep, Reason: ReasonApplied, State: *in.Known}
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

// drifted puts the object right, unless drift is only to be told.
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

// write applies the manifest, unless nothing is to be written.
func (in Input) write(a Action, why Reason) Decision {
	if in.When == WhenNever {
		a = Wait
	}
	return decision(a, why, messages[why])
}

// finished keeps an object that has come to its end; nil: as the Work knows it.
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

// leave decides about an object that shall not be there any more. Only the end of
// its template passes a suspension.
func leave(in Input) Decision {
	f, o := in.Finding, in.Live
	keep := in.Work.Spec.PreserveResourcesOnDeletion
	switch {
	case f.Left, f.Elsewhere, f.Abandoned, f.Reason == ReasonBindingsNotServed:
		return decision(Release, f.Reason, f.Message)
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
	return d
}

func decision(a Action, r Reason, message string) Decision {
	return Decision{Action: a, Reason: r, Message: message}
}
