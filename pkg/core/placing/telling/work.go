// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package telling

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// The released reasons of a manifest's conditions.
const (
	ReasonApplied       = "Applied"
	ReasonFailedToApply = "FailedToApply"
	ReasonNotTakenOver  = "NotTakenOver"
	// ReasonFailedToTakeOver: the member's object may not be taken over, because it
	// differs from the manifest.
	ReasonFailedToTakeOver = "FailedToTakeOver"
	ReasonFoundDrifts      = "FoundDrifts"
	// ReasonConflict: another placement, or a policy, has the object.
	ReasonConflict    = "ApplyConflictBetweenPlacements"
	ReasonUndecodable = "DecodingErred"
	// ReasonContested: somebody else owns a field of the object in the member.
	ReasonContested   = "ApplyConflictWithOtherApplier"
	ReasonFoundDiff   = "FoundDiff"
	ReasonNoDiffFound = "NoDiffFound"
	// ReasonHeld: the Work is suspended.
	ReasonHeld = "Suspended"
)

// The released reasons of a Work's conditions.
const (
	reasonAllApplied      = "AllManifestsApplied"
	reasonNotAllApplied   = "SomeManifestsAreNotApplied"
	reasonAllAvailable    = "AllManifestsAvailable"
	reasonNotAllAvailable = "SomeManifestsAreNotAvailable"
	reasonAllDiffed       = "AllManifestsDiffReported"
)

// Outcome is the result of applying one manifest. The zero Outcome is that of a
// manifest that was not reached.
type Outcome struct {
	// Manifest is the decoded manifest; nil: it could not be decoded.
	Manifest map[string]any
	// Reason of the condition Applied. ReasonApplied: the member has the object. With
	// ReasonFoundDiff and ReasonNoDiffFound the condition is DiffReported.
	Reason  string
	Message string
	// Object is the member's object; nil: it has none.
	Object map[string]any
	// State is what was applied last; nil: nothing.
	State *placementv1.AppliedState
	// Holder is the Work that the object belongs to, if that is another Work of the
	// same hub.
	Holder *propagation.WorkKey
	// Differs lists the fields that the member's object has with other values.
	Differs []placementv1.PatchDetail
	// Fought says who fights over the object; empty: nobody, or it was said.
	Fought string
	// At is when Sluice had changed the object last, when it was read.
	At time.Time
}

// WorkStatus returns the status of the Work after its manifests were applied. Manifests
// that were not reached keep their results. As long as one of them has no result for
// the Work's present generation, the Work is in progress.
func WorkStatus(known kinds.Table, w *propagation.Work, outcomes []Outcome, now time.Time) placementv1.WorkStatus {
	status := placementv1.WorkStatus{}
	waiting, applied, available, untracked := 0, 0, 0, false
	diffs := ReportsDiff(w.Strategy)
	for i, o := range outcomes {
		result := placementv1.ManifestCondition{Identifier: Identify(i, o.Manifest), Applied: o.State}
		result.Conditions = earlier(w.Results, result.Identifier)
		switch {
		case o.Reason == "":
			if result = untouched(w, i); len(result.Conditions) == 0 {
				waiting++
			}
		case diffs:
			result = o.diffed(result, w, now)
		default:
			result = o.applied(known, result, w, now)
		}
		if c := meta.FindStatusCondition(result.Conditions, placementv1.ConditionAvailable); c != nil && c.Status == metav1.ConditionTrue {
			available++
			untracked = untracked || c.Reason == string(NotTrackable)
		}
		if meta.IsStatusConditionTrue(result.Conditions, placementv1.ConditionApplied) {
			applied++
		}
		status.ManifestConditions = append(status.ManifestConditions, result)
	}
	if waiting > 0 {
		status.Conditions = InProgress(w, fmt.Sprintf("%d of %d manifests are still to be looked after", waiting, len(outcomes)), now)
		return status
	}
	status.Conditions = workConditions(w, len(outcomes), applied, available, untracked, now)
	return status
}

// untouched returns the result that the Work has for the manifest at i, with conditions
// only if they are of the Work's present generation. What was applied last is kept in
// any case.
func untouched(w *propagation.Work, i int) placementv1.ManifestCondition {
	var named metav1.PartialObjectMetadata
	if err := json.Unmarshal(w.Spec.Workload.Manifests[i].Raw, &named); err != nil {
		return placementv1.ManifestCondition{Identifier: Identify(i, nil)}
	}
	gvk := named.GroupVersionKind()
	r := placementv1.ManifestCondition{Identifier: placementv1.WorkResourceIdentifier{
		Ordinal: i, Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: named.Namespace, Name: named.Name,
	}}
	was := ResultOf(w.Results, r.Identifier)
	if was == nil {
		return r
	}
	r.Applied = was.Applied
	if !slices.ContainsFunc(was.Conditions, func(c metav1.Condition) bool { return c.ObservedGeneration != w.Generation }) {
		r.Conditions, r.DriftDetails, r.DiffDetails = was.Conditions, was.DriftDetails, was.DiffDetails
	}
	return r
}

// InProgress returns the conditions of a Work whose objects are being applied, or
// removed, while some of them were not reached.
func InProgress(w *propagation.Work, message string, now time.Time) []metav1.Condition {
	t, reason := placementv1.ConditionApplied, placementv1.ReasonApplyInProgress
	if ReportsDiff(w.Strategy) {
		t, reason = placementv1.ConditionDiffReported, placementv1.ReasonDiffReportInProgress
	}
	list, _ := conditions.Set(conditions.Only(w.Status.Conditions, t), metav1.Condition{Type: t, Status: metav1.ConditionUnknown, Reason: reason, Message: message, ObservedGeneration: w.Generation}, now)
	return list
}

// NotApplied returns the condition of the first object that was not applied; nil: all
// are.
func NotApplied(results []placementv1.ManifestCondition) *metav1.Condition {
	for _, r := range results {
		if c := meta.FindStatusCondition(r.Conditions, placementv1.ConditionApplied); c != nil && c.Status == metav1.ConditionFalse {
			return c
		}
	}
	return nil
}

func workConditions(w *propagation.Work, all, applied, available int, untracked bool, now time.Time) []metav1.Condition {
	list := conditions.Only(w.Status.Conditions, placementv1.ConditionApplied, placementv1.ConditionAvailable, placementv1.ConditionDiffReported)
	set := func(t string, ok bool, reason, message string) {
		list, _ = conditions.Set(list, metav1.Condition{Type: t, Status: statusOf(ok), Reason: reason, Message: message, ObservedGeneration: w.Generation}, now)
	}
	if ReportsDiff(w.Strategy) {
		list = conditions.Only(list, placementv1.ConditionDiffReported)
		set(placementv1.ConditionDiffReported, true, reasonAllDiffed, "All the specified manifests have reported diff")
		return list
	}
	list = conditions.Only(list, placementv1.ConditionApplied, placementv1.ConditionAvailable)
	if applied < all {
		list = conditions.Only(list, placementv1.ConditionApplied)
		set(placementv1.ConditionApplied, false, reasonNotAllApplied, fmt.Sprintf("Failed to apply all manifests (%d of %d manifests are applied)", applied, all))
		return list
	}
	set(placementv1.ConditionApplied, true, reasonAllApplied, "All the specified manifests have been applied")
	switch {
	case available < all:
		set(placementv1.ConditionAvailable, false, reasonNotAllAvailable, fmt.Sprintf("Some manifests are not available (%d of %d manifests are available)", available, all))
	case untracked:
		set(placementv1.ConditionAvailable, true, placementv1.ReasonSeedWorkNotTrackable, "Some of the applied manifests cannot be tracked for availability")
	default:
		set(placementv1.ConditionAvailable, true, reasonAllAvailable, "All of the applied manifests are available")
	}
	return list
}

// Suspended returns the status of a Work that is suspended.
func Suspended(w *propagation.Work, why string, now time.Time) placementv1.WorkStatus {
	list := conditions.Only(w.Status.Conditions, placementv1.ConditionApplied)
	list, _ = conditions.Set(list, metav1.Condition{
		Type: placementv1.ConditionApplied, Status: metav1.ConditionUnknown, Reason: ReasonHeld, Message: why, ObservedGeneration: w.Generation,
	}, now)
	return placementv1.WorkStatus{Conditions: list, ManifestConditions: w.Results}
}

// Finished reports whether nothing is left to do for the Work: its member has
// everything in it, the differences were reported, or the Work says that it is
// suspended.
func Finished(w *propagation.Work) bool {
	says := func(condition string, status metav1.ConditionStatus) bool {
		c := meta.FindStatusCondition(w.Status.Conditions, condition)
		return c != nil && c.Status == status && c.ObservedGeneration == w.Generation
	}
	switch {
	case w.Suspended():
		return says(placementv1.ConditionApplied, metav1.ConditionUnknown)
	case ReportsDiff(w.Strategy):
		return says(placementv1.ConditionDiffReported, metav1.ConditionTrue)
	}
	return says(placementv1.ConditionApplied, metav1.ConditionTrue)
}

// Unreachable returns the status of a Work whose member does not answer.
func Unreachable(w *propagation.Work, reason, message string, now time.Time) placementv1.WorkStatus {
	list := conditions.Only(w.Status.Conditions, placementv1.ConditionApplied)
	list, _ = conditions.Set(list, metav1.Condition{
		Type: placementv1.ConditionApplied, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: w.Generation,
	}, now)
	return placementv1.WorkStatus{Conditions: list, ManifestConditions: w.Results}
}

// ReportsDiff reports whether the strategy is to report differences and write nothing.
func ReportsDiff(s *placementv1.ApplyStrategy) bool {
	return s != nil && s.Type == placementv1.ApplyStrategyTypeReportDiff
}

// applied returns the result for a manifest that is to be applied.
func (o Outcome) applied(known kinds.Table, r placementv1.ManifestCondition, w *propagation.Work, now time.Time) placementv1.ManifestCondition {
	r.Conditions = conditions.Only(r.Conditions, placementv1.ConditionApplied, placementv1.ConditionAvailable)
	message := o.Message
	if o.Reason == ReasonApplied {
		message = "Manifest is applied"
	}
	r.Conditions, _ = conditions.Set(r.Conditions, metav1.Condition{
		Type: placementv1.ConditionApplied, Status: statusOf(o.Reason == ReasonApplied), Reason: o.Reason, Message: message, ObservedGeneration: w.Generation,
	}, now)
	if o.Reason != ReasonApplied {
		r.Conditions = conditions.Only(r.Conditions, placementv1.ConditionApplied)
		switch {
		case len(o.Differs) == 0:
		case o.Reason == ReasonFailedToTakeOver:
			r.DiffDetails = o.diff(ResultOf(w.Results, r.Identifier), metav1.NewTime(now.Truncate(time.Second)))
		default:
			r.DriftDetails = o.drift(ResultOf(w.Results, r.Identifier), metav1.NewTime(now.Truncate(time.Second)))
		}
		return r
	}
	a := AvailabilityOf(known, o.Object)
	message = map[Availability]string{
		Available: "Manifest is available", NotYet: "Manifest is not yet available",
		NotTrackable: "The availability of the manifest cannot be told; it is taken for available",
	}[a]
	r.Conditions, _ = conditions.Set(r.Conditions, metav1.Condition{
		Type: placementv1.ConditionAvailable, Status: statusOf(a != NotYet), Reason: string(a), Message: message, ObservedGeneration: w.Generation,
	}, now)
	return r
}

// diffed returns the result for a manifest whose differences are only reported.
func (o Outcome) diffed(r placementv1.ManifestCondition, w *propagation.Work, now time.Time) placementv1.ManifestCondition {
	r.Conditions = conditions.Only(r.Conditions, placementv1.ConditionDiffReported)
	r.Conditions, _ = conditions.Set(r.Conditions, metav1.Condition{
		Type: placementv1.ConditionDiffReported, Status: metav1.ConditionTrue, Reason: o.Reason, Message: o.Message, ObservedGeneration: w.Generation,
	}, now)
	if o.Reason == ReasonFoundDiff {
		r.DiffDetails = o.diff(ResultOf(w.Results, r.Identifier), metav1.NewTime(now.Truncate(time.Second)))
	}
	return r
}

// drift describes how the object was changed. A drift that was reported before keeps
// the time at which it was first observed, and if it is unchanged also the time of its
// observation.
func (o Outcome) drift(was *placementv1.ManifestCondition, now metav1.Time) *placementv1.DriftDetails {
	d := &placementv1.DriftDetails{ObservationTime: now, FirstDriftedObservedTime: now, ObservedInMemberClusterGeneration: propagation.Generation(o.Object), ObservedDrifts: o.Differs}
	if was == nil || was.DriftDetails == nil {
		return d
	}
	d.FirstDriftedObservedTime = was.DriftDetails.FirstDriftedObservedTime
	if was.DriftDetails.ObservedInMemberClusterGeneration == d.ObservedInMemberClusterGeneration && abbreviates(was.DriftDetails.ObservedDrifts, d.ObservedDrifts) {
		d.ObservationTime = was.DriftDetails.ObservationTime
	}
	return d
}

// diff is drift for a strategy that only reports differences.
func (o Outcome) diff(was *placementv1.ManifestCondition, now metav1.Time) *placementv1.DiffDetails {
	d := &placementv1.DiffDetails{ObservationTime: now, FirstDiffedObservedTime: now, ObservedDiffs: o.Differs}
	if o.Object != nil {
		d.ObservedInMemberClusterGeneration = new(propagation.Generation(o.Object))
	}
	if was == nil || was.DiffDetails == nil {
		return d
	}
	d.FirstDiffedObservedTime = was.DiffDetails.FirstDiffedObservedTime
	if abbreviates(was.DiffDetails.ObservedDiffs, d.ObservedDiffs) {
		d.ObservationTime = was.DiffDetails.ObservationTime
	}
	return d
}

// Identify returns the identifier of a manifest of a Work.
func Identify(ordinal int, manifest map[string]any) placementv1.WorkResourceIdentifier {
	u := unstructured.Unstructured{Object: manifest}
	gvk := u.GroupVersionKind()
	return placementv1.WorkResourceIdentifier{Ordinal: ordinal, Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: u.GetNamespace(), Name: u.GetName()}
}

// Former returns the objects that the Work records as applied and that are in none of
// its present manifests. They have to be removed from the member.
func Former(w *propagation.Work, now []placementv1.ManifestCondition) []placementv1.ManifestCondition {
	var out []placementv1.ManifestCondition
	for _, r := range w.Results {
		if r.Applied != nil && ResultOf(now, r.Identifier) == nil {
			out = append(out, r)
		}
	}
	return out
}

// Brought returns the objects that the member has because of the Work, or may have, in the
// order in which they were applied: besides those that the Work records, the manifests of
// which it says nothing. Whoever applied one may have ended before that was recorded.
func Brought(w *propagation.Work) []placementv1.ManifestCondition {
	var out []placementv1.ManifestCondition
	for i := range w.Spec.Workload.Manifests {
		r := untouched(w, i)
		if was := ResultOf(w.Results, r.Identifier); was != nil {
			r = *was
		}
		if r.Identifier.Kind != "" && (r.Applied != nil || len(r.Conditions) == 0) {
			out = append(out, r)
		}
	}
	return append(out, Former(w, out)...)
}

// Remains returns the results of a Work that is being deleted, of whose objects those in
// left are still in the member. Of each other manifest it says so: one without a word would
// be looked for again (Brought).
func Remains(w *propagation.Work, left []placementv1.ManifestCondition, now time.Time) []placementv1.ManifestCondition {
	var out []placementv1.ManifestCondition
	for i := range w.Spec.Workload.Manifests {
		r := placementv1.ManifestCondition{Identifier: untouched(w, i).Identifier}
		if still := ResultOf(left, r.Identifier); still != nil {
			r = *still
		} else {
			r.Conditions, _ = conditions.Set(nil, metav1.Condition{
				Type: placementv1.ConditionApplied, Status: metav1.ConditionUnknown, Reason: string(applying.ReasonDeleted), Message: "it is not in the member any more", ObservedGeneration: w.Generation,
			}, now)
		}
		out = append(out, r)
	}
	for _, r := range left {
		if ResultOf(out, r.Identifier) == nil {
			out = append(out, r)
		}
	}
	return out
}

// Tried returns the Work's results and, for each object that was applied, or may have
// been, and that they do not tell of, one that says so: applying the Work was broken off,
// and whatever becomes of it, what the member has must be known. The outcomes are those of
// the Work's manifests.
func Tried(w *propagation.Work, outcomes []Outcome) []placementv1.ManifestCondition {
	results := w.Results
	for i, o := range outcomes {
		if o.State == nil || o.Manifest == nil {
			continue
		}
		id := Identify(i, o.Manifest)
		switch known := ResultOf(results, id); {
		case known == nil:
			results = append(slices.Clip(results), placementv1.ManifestCondition{Identifier: id, Applied: o.State})
		case known.Applied == nil:
			results = slices.Clone(results)
			ResultOf(results, id).Applied = o.State
		}
	}
	return results
}

// Entrusted returns the Work's results, in which everything that it wants of what another
// Work has is among what the member has of it: it is about to get that.
func Entrusted(w, of *propagation.Work) []placementv1.ManifestCondition {
	has, outcomes := Brought(of), make([]Outcome, len(w.Spec.Workload.Manifests))
	for i, m := range w.Spec.Workload.Manifests {
		var manifest map[string]any
		if err := json.Unmarshal(m.Raw, &manifest); err == nil && ResultOf(has, Identify(i, manifest)) != nil {
			outcomes[i] = Outcome{Manifest: manifest, State: &placementv1.AppliedState{}}
		}
	}
	return Tried(w, outcomes)
}

// Unrecorded returns the objects that were applied and of which the Work does not tell:
// neither its manifests nor its results have them.
func Unrecorded(w *propagation.Work, applied []placementv1.ManifestCondition) []placementv1.ManifestCondition {
	var out []placementv1.ManifestCondition
	for _, r := range applied {
		said := slices.ContainsFunc(w.Spec.Workload.Manifests, func(m workv1alpha1.Manifest) bool {
			id, ok := manifestIdentity(m)
			return ok && ResultOf([]placementv1.ManifestCondition{r}, id) != nil
		})
		if r.Applied != nil && ResultOf(w.Results, r.Identifier) == nil && !said {
			out = append(out, r)
		}
	}
	return out
}

// Has reports whether the Work has a result for the object, or, while the Work is not
// finished, whether the object is in one of its manifests: the member may have it
// before the Work records that.
func Has(w *propagation.Work, key propagation.TemplateKey) bool {
	if ResultOf(w.Results, identityOf(key)) != nil {
		return true
	}
	return !Finished(w) && Says(w, key)
}

// Says reports whether the object is in one of the Work's manifests.
func Says(w *propagation.Work, key propagation.TemplateKey) bool {
	return slices.ContainsFunc(w.Spec.Workload.Manifests, func(m workv1alpha1.Manifest) bool {
		id, ok := manifestIdentity(m)
		return ok && id == identityOf(key)
	})
}

// earlier returns the conditions that the object had, whatever its position.
func earlier(results []placementv1.ManifestCondition, id placementv1.WorkResourceIdentifier) []metav1.Condition {
	if r := ResultOf(results, id); r != nil {
		return append([]metav1.Condition(nil), r.Conditions...)
	}
	return nil
}

// ResultOf returns the last result for the object, whatever its ordinal was; nil if there
// is none.
func ResultOf(results []placementv1.ManifestCondition, id placementv1.WorkResourceIdentifier) *placementv1.ManifestCondition {
	for i, r := range results {
		if r.Identifier.Group == id.Group && r.Identifier.Kind == id.Kind && r.Identifier.Namespace == id.Namespace && r.Identifier.Name == id.Name {
			return &results[i]
		}
	}
	return nil
}

func statusOf(ok bool) metav1.ConditionStatus {
	if ok {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}
