// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
)

// placed applies the Work of a placement to its member, or removes its objects if the
// Work is being deleted. Each object is handled by itself, so that one that fails does
// not stop others. at is the position that an earlier event reached.
func (s *Stage) placed(ctx context.Context, w *propagation.Work, at string) (result, error) {
	if w.Deleting {
		return s.seeOff(ctx, w, at)
	}
	p, err := s.hub.PlacementNow(ctx, w.Placement())
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return result{}, fmt.Errorf("get placement %s: %w", w.Placement(), err)
	}
	if p == nil || p.DeletionTimestamp != nil {
		return result{event: events.WorkHeld, reason: "PlacementGone", message: "the placement is gone, and its Works follow"}, nil
	}
	if w.Suspended() || propagation.PlacementSuspended(p.Annotations, w.Key.Cluster) {
		return s.holdPlaced(ctx, w, w.Results)
	}
	return s.applyPlaced(ctx, w, startOf(w, at), seenOf(w, at))
}

// holdPlaced writes to the Work's status, beside the results, that it is suspended.
func (s *Stage) holdPlaced(ctx context.Context, w *propagation.Work, results []placementv1.ManifestCondition) (result, error) {
	const why = "the placement is suspended"
	status := telling.Suspended(w, why, s.now())
	status.ManifestConditions = results
	if _, err := s.hub.CommitWorkResults(ctx, w, status); err != nil {
		return result{}, fmt.Errorf("commit status of %s: %w", w.Key, err)
	}
	return result{event: events.WorkHeld, reason: workv1alpha1.ReasonSuspendDispatching, message: why}, nil
}

// applyPlaced applies the Work's manifests from that index on, and removes objects that
// are no longer in it, of which seen were handled already.
func (s *Stage) applyPlaced(ctx context.Context, w *propagation.Work, from, seen int) (result, error) {
	m, identity, err := s.reach(ctx, w)
	if err != nil {
		return s.unreached(ctx, w, w.Results, err)
	}
	contents, err := s.contents(ctx, w)
	if err != nil {
		return result{}, err
	}
	outcomes, began, next := make([]telling.Outcome, len(w.Spec.Workload.Manifests)), time.Now(), from
	defer func() { measure(began, outcomes[from:next]) }()
	siblings := s.siblings(ctx, w)
	done, err := s.inOrder(kindsOf(w)[from:], s.unlessSuspended(ctx, w), func(i int) (err error) {
		outcomes[from+i], err = s.applyManifest(ctx, m, w, identity, w.Spec.Workload.Manifests[from+i], contents, siblings)
		return err
	})
	next += done
	switch {
	case errors.Is(err, errSuspended):
		return s.holdPlaced(ctx, w, telling.Tried(w, outcomes))
	case err != nil && !errors.Is(err, errLater):
		return s.unreached(ctx, w, telling.Tried(w, outcomes), err)
	}
	known, kindsErr := s.kinds(ctx)
	if kindsErr != nil {
		return result{}, kindsErr
	}
	status := telling.WorkStatus(known, w, outcomes, s.now())
	rest, to := remains{left: telling.Former(w, status.ManifestConditions)}, &heirs{}
	if err == nil {
		if rest, err = s.removeAll(ctx, m, w, identity, rest.left, seen, to); err != nil && !errors.Is(err, errLater) {
			return s.unreached(ctx, w, telling.Tried(w, outcomes), err)
		}
		if err != nil {
			status.Conditions = telling.InProgress(w, fmt.Sprintf("%d objects have still to leave", len(rest.left)), s.now())
		}
	}
	fights, over := s.placedFights(w, outcomes)
	kept := slices.Concat(status.Conditions, conditions.Only(w.Status.Conditions, applying.ConditionFieldsContested))
	kept = applying.WithFieldsContested(kept, fights, over, s.now())
	status.Conditions = applying.WithChanges(kept, placedChanges(w.Key.Cluster, status.ManifestConditions), s.now())
	status.ManifestConditions = append(status.ManifestConditions, rest.left...)
	now, commitErr := s.hub.CommitWorkResults(ctx, w, status)
	if commitErr != nil {
		return result{}, errors.Join(fmt.Errorf("commit status of %s: %w", w.Key, commitErr), s.remember(ctx, w, status.ManifestConditions, commitErr))
	}
	s.tellFights(ctx, w, fights)
	s.tellChanges(ctx, w, status.Conditions)
	holders, contestErr := s.contest(ctx, w, inVain(outcomes))
	if contestErr != nil {
		return result{}, contestErr
	}
	to.keys = append(to.keys, holders...)
	if err != nil {
		return result{later: true, next: place(w, next+rest.seen), heirs: to.keys}, nil
	}
	r := concluded(outcomes, status, now.ResourceVersion != w.ResourceVersion)
	r.heirs = to.keys
	return r, nil
}

// remember records on a Work that changed while it was applied which objects the member
// got, and the Work does not have any more: nobody else would know of them.
func (s *Stage) remember(ctx context.Context, w *propagation.Work, applied []placementv1.ManifestCondition, failure error) error {
	for n := 0; outcome.IsConflict(failure) && n < attempts; n++ {
		now, err := s.hub.WorkNow(ctx, w.Key)
		if errors.Is(err, outcome.ErrGone) || err == nil && now.UID != w.UID {
			return nil
		}
		if err != nil {
			return fmt.Errorf("get %s: %w", w.Key, err)
		}
		left := telling.Unrecorded(now, applied)
		if len(left) == 0 {
			return nil
		}
		_, failure = s.hub.CommitWorkResults(ctx, now, placementv1.WorkStatus{
			Conditions: now.Status.Conditions, ManifestConditions: append(slices.Clone(now.Results), left...),
		})
	}
	if failure != nil {
		return fmt.Errorf("record what %s had: %w", w.Key, failure)
	}
	return nil
}

// concluded returns the result for a Work all of whose manifests were handled.
func concluded(outcomes []telling.Outcome, status placementv1.WorkStatus, news bool) result {
	for _, o := range outcomes {
		if o.Manifest != nil && propagation.SealedHash(o.Manifest) != "" { // its content is missing
			return result{event: events.WorkFailed, reason: string(applying.ReasonContentMissing), message: o.Message, news: news}
		}
	}
	if c := telling.NotApplied(status.ManifestConditions[:len(outcomes)]); c != nil {
		return result{event: events.WorkFailed, reason: c.Reason, message: c.Message}
	}
	return result{event: events.WorkApplied, reason: telling.ReasonApplied}
}

// reach returns the client for the Work's member, and the identity of this hub.
func (s *Stage) reach(ctx context.Context, w *propagation.Work) (Member, string, error) {
	m, err := s.members(ctx, w.Key.Cluster)
	if err != nil {
		return nil, "", fmt.Errorf("reach %s: %w", w.Key.Cluster, err)
	}
	identity, err := s.hub.Identity(ctx)
	return m, identity, err
}

// unreached writes to the Work's status, beside the results, that its member could not be
// asked.
func (s *Stage) unreached(ctx context.Context, w *propagation.Work, results []placementv1.ManifestCondition, failure error) (result, error) {
	reason := reasonOf(failure)
	if reason == "" {
		return result{}, failure
	}
	status := telling.Unreachable(w, reason, failure.Error(), s.now())
	status.ManifestConditions = results
	if _, err := s.hub.CommitWorkResults(ctx, w, status); err != nil {
		return result{}, fmt.Errorf("commit status of %s: %w", w.Key, err)
	}
	return result{event: events.WorkFailed, reason: reason, message: failure.Error()}, nil
}

// applyManifest applies one manifest. An error concerns the member as a whole.
func (s *Stage) applyManifest(ctx context.Context, m Member, w *propagation.Work, identity string, raw workv1alpha1.Manifest, contents propagation.Contents, siblings func() ([]*propagation.Work, error)) (telling.Outcome, error) {
	var sealed map[string]any
	if err := decode(raw.RawExtension, &sealed); err != nil {
		return telling.Outcome{Reason: telling.ReasonUndecodable, Message: err.Error()}, nil
	}
	manifest, ok := propagation.Open(sealed, contents)
	if !ok {
		in := inputOf(w, identity, sealed)
		o := telling.Outcome{Manifest: sealed, Reason: telling.ReasonFailedToApply, Message: applying.WithoutContent().Message}
		if in.Known != nil {
			o.State = stateOf(in, *in.Known)
		}
		return o, nil
	}
	in := inputOf(w, identity, manifest)
	o := telling.Outcome{Manifest: manifest}
	if in.Known != nil {
		o.State = stateOf(in, *in.Known)
	}
	ref := refOf(manifest)
	if untried(telling.ResultOf(w.Results, telling.Identify(0, manifest))) {
		if now, err := s.create(ctx, m, in); err != nil || now != nil {
			return s.sent(o, now, err)
		}
	}
	whole := in.TakeOver == applying.TakeOverIfNoDiff || in.When != applying.WhenAlways
	var err error
	if in.Live, err = m.Look(ctx, ref, member.Looking{First: in.Known == nil, Whole: whole}); err != nil {
		return s.failed(o, err)
	}
	if in.Live.Answer == applying.Found {
		o.Object, o.At = in.Live.Value.Object, in.Live.Value.At
	}
	if in.When == applying.WhenNever {
		return reported(w, o), nil
	}
	ours, conflict, err := s.anothers(ctx, &in, siblings)
	switch {
	case err != nil:
		return o, err
	case conflict != "":
		return conflicting(o, in, conflict), nil
	}
	d := applying.Decide(in)
	if no := strict(w, o, d); no != nil && !ours {
		return *no, nil
	}
	switch {
	case d.Action == applying.Keep:
		o.Reason, o.State = telling.ReasonApplied, stateOf(in, d.State)
		return o, nil
	case !d.Writes():
		return refused(w, o, d), nil
	}
	var now *applying.Observed
	now, o.Fought, err = s.send(ctx, m, in, d)
	return s.sent(o, now, err)
}

// untried reports whether a manifest with that result was not sent to the member yet.
func untried(r *placementv1.ManifestCondition) bool {
	return r == nil || r.Applied == nil && !meta.IsStatusConditionFalse(r.Conditions, placementv1.ConditionApplied)
}

// sent returns the outcome of a manifest that was sent to the member; now is the object.
func (s *Stage) sent(o telling.Outcome, now *applying.Observed, err error) (telling.Outcome, error) {
	if err != nil {
		return s.failed(maybe(o, err), err)
	}
	o.Reason, o.Object = telling.ReasonApplied, now.Object
	o.State = &placementv1.AppliedState{ManifestHash: propagation.HashJSON(o.Manifest), FieldsHash: now.FieldsHash, UID: now.UID, Changed: now.Changed}
	return o, nil
}

// maybe returns the outcome of an object that was sent to the member: if that does not
// say that it has it, it may have it.
func maybe(o telling.Outcome, err error) telling.Outcome {
	if unknown := (*member.Unreachable)(nil); o.State == nil && errors.As(err, &unknown) {
		o.State = &placementv1.AppliedState{}
	}
	return o
}

// inputOf returns the input of the decision about the manifest, except for what is read
// from the member.
func inputOf(w *propagation.Work, identity string, manifest map[string]any) applying.Input {
	in := applying.Input{Work: w, Manifest: manifest, Hub: identity, TakeOver: applying.TakeOverAlways, When: applying.WhenAlways}
	if r := telling.ResultOf(w.Results, telling.Identify(0, manifest)); r != nil && r.Applied != nil {
		in.Known, in.Ended = knownOf(*r.Applied), r.Applied.Finished
	}
	if s := w.Strategy; s != nil {
		if s.WhenToTakeOver != "" {
			in.TakeOver = applying.TakeOver(s.WhenToTakeOver)
		}
		if s.WhenToApply == placementv1.WhenToApplyTypeIfNotDrifted {
			in.When = applying.WhenNotDrifted
		}
		if telling.ReportsDiff(s) {
			in.When = applying.WhenNever
		}
	}
	return in
}

// knownOf returns what a placement's Work records of an object.
func knownOf(a placementv1.AppliedState) *workv1alpha1.AppliedState {
	return &workv1alpha1.AppliedState{ManifestHash: a.ManifestHash, FieldsHash: a.FieldsHash, UID: a.UID, Changed: a.Changed}
}

// stateOf returns what a placement's Work is to record of an object: the state, and that
// it finished, if it was ever seen to have. No other status of the object is kept.
func stateOf(in applying.Input, a workv1alpha1.AppliedState) *placementv1.AppliedState {
	seen := in.Live.Answer == applying.Found && applying.Over(in.Live.Value.Object) || in.Live.Last != nil
	return &placementv1.AppliedState{ManifestHash: a.ManifestHash, FieldsHash: a.FieldsHash, UID: a.UID, Changed: a.Changed, Finished: in.Ended || seen}
}

// failed returns the outcome for an object that the member rejects; it is an error if
// the member does not answer at all.
func (s *Stage) failed(o telling.Outcome, err error) (telling.Outcome, error) {
	var unreachable *member.Unreachable
	if errors.As(err, &unreachable) || reasonOf(err) == "" {
		return o, err
	}
	o.Reason, o.Message = telling.ReasonFailedToApply, err.Error()
	if errors.As(err, new(*member.Contested)) {
		o.Reason = telling.ReasonContested
	}
	return o, nil
}

const messageDiffers = "the member has the object already, with other content, and whenToTakeOver is IfNoDiff"

// refused returns the outcome for an object that is left as it is.
func refused(w *propagation.Work, o telling.Outcome, d applying.Decision) telling.Outcome {
	o.Reason, o.Message = telling.ReasonFailedToApply, d.Message
	switch {
	case d.Reason == applying.ReasonNotOurs && d.Lost:
		o.Reason, o.Message = telling.ReasonNotTakenOver, "the object belongs to somebody else now, and "+member.HowToTakeBack
	case d.Reason == applying.ReasonNotOurs && w.Strategy != nil && w.Strategy.WhenToTakeOver == placementv1.WhenToTakeOverTypeIfNoDiff:
		o.Reason, o.Differs = telling.ReasonFailedToTakeOver, differences(w, o)
		o.Message = messageDiffers
	case d.Reason == applying.ReasonNotOurs:
		o.Reason, o.Message = telling.ReasonNotTakenOver, "the member has the object already, and whenToTakeOver is Never"
	case d.Drift():
		o.Reason, o.Differs = telling.ReasonFoundDrifts, differences(w, o)
	}
	return o
}

// strict returns the outcome if the strategy is stricter than the decision: without
// allowCoOwnership an object with other owners is not taken over, and with
// FullComparison the object may have no fields beyond the manifest's. Nil: it is not
// stricter.
func strict(w *propagation.Work, o telling.Outcome, d applying.Decision) *telling.Outcome {
	s := w.Strategy
	if s == nil || o.Object == nil {
		return nil
	}
	if d.Action == applying.Adopt && !s.AllowCoOwnership && owned(o.Object) {
		o.Reason, o.Message = telling.ReasonFailedToTakeOver, "the object has other owners in the member, and allowCoOwnership is false"
		return &o
	}
	if s.ComparisonOption != placementv1.ComparisonOptionTypeFullComparison {
		return nil
	}
	switch {
	case d.Action == applying.Adopt && s.WhenToTakeOver == placementv1.WhenToTakeOverTypeIfNoDiff:
		o.Reason, o.Message = telling.ReasonFailedToTakeOver, messageDiffers
	case d.Action == applying.Keep && s.WhenToApply == placementv1.WhenToApplyTypeIfNotDrifted:
		o.Reason, o.Message = telling.ReasonFoundDrifts, "the object has fields that were not applied"
	default:
		return nil
	}
	if o.Differs = differences(w, o); len(o.Differs) == 0 {
		return nil
	}
	return &o
}

// owned reports whether the object has owners in the member.
func owned(object map[string]any) bool {
	u := unstructured.Unstructured{Object: object}
	return len(u.GetOwnerReferences()) > 0
}

// differences returns the differences that the strategy counts.
func differences(w *propagation.Work, o telling.Outcome) []placementv1.PatchDetail {
	if w.Strategy != nil && w.Strategy.ComparisonOption == placementv1.ComparisonOptionTypeFullComparison {
		return telling.AllDifferences(o.Manifest, o.Object)
	}
	return telling.Differences(o.Manifest, o.Object)
}

// reported returns the outcome if differences are only reported.
func reported(w *propagation.Work, o telling.Outcome) telling.Outcome {
	o.Differs = differences(w, o)
	o.Reason, o.Message = telling.ReasonNoDiffFound, "No configuration diff has been found"
	if len(o.Differs) > 0 {
		o.Reason, o.Message = telling.ReasonFoundDiff, "The member has the object otherwise, or does not have it"
	}
	return o
}
