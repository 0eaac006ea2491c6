// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
)

// The reasons of a Work whose member does not have what is in it.
const (
	reasonNotJoined    = reporting.ReasonNotJoined
	reasonUnreachable  = reporting.ReasonUnreachable
	reasonRefused      = "RefusedByMember"
	reasonInvalid      = "InvalidManifest"
	reasonNoNamespace  = "NamespaceSkipped"
	skipNamespaceLabel = "namespace.karmada.io/skip-auto-propagation"
)

// done is the outcome for one manifest.
type done struct {
	manifest map[string]any
	// object is the member's object as it was read; nil: it need not exist.
	object map[string]any
	state  workv1alpha1.AppliedState
	// at is when Sluice had changed the object last, when it was read.
	at time.Time
	// fought says who fights over the object; empty: nobody, or it was said.
	fought string
	// told are the Works that were told, before it was taken from them, who has it now.
	told []propagation.WorkKey
}

// apply applies the Work to its member, and writes the outcome to the Work's status. If
// objects have not settled, the reporter writes the status when they have, so that one
// write is enough, unless somebody waits for the status (urgent).
func (s *Stage) apply(ctx context.Context, w *propagation.Work, bound *propagation.Binding, urgent bool) (result, error) {
	applied, err := s.write(ctx, w, bound)
	if err != nil {
		return s.fail(ctx, w, err)
	}
	known, err := s.kinds(ctx)
	if err != nil {
		return result{}, err
	}
	r := result{event: events.WorkApplied, reason: reporting.ReasonApplied, message: reporting.MessageApplied}
	settling := false
	for _, a := range applied {
		r.heirs = append(r.heirs, a.told...)
		settling = settling || a.object != nil && !applying.Over(a.object) && reporting.Settling(known, a.object)
	}
	status := reporting.Succeeded(w, applied[0].state, statuses(known, w, bound, applied), s.now())
	began, over := s.fights(w, applied)
	status.Conditions = applying.WithFieldsContested(status.Conditions, began, over, s.now())
	changed := changes(w.Key.Cluster, applied)
	status.Conditions = applying.WithChanges(status.Conditions, changed, s.now())
	urgent = urgent || len(changed) > 0 || changedAnew(w, status.Conditions) // until it is recorded, it looks drifted
	if known := w.Status.Applied; settling && !urgent && reporting.Patient(w) && (known == nil || *known != applied[0].state) {
		return result{event: events.WorkApplied, reason: "Settling", message: "the member has what the Work says, and works on it", heirs: r.heirs}, nil
	}
	s.tell(ctx, w, metav1.ConditionTrue)
	if _, err := s.hub.CommitWorkStatus(ctx, w, status); err != nil {
		return result{}, fmt.Errorf("commit status of %s: %w", w.Key, err)
	}
	s.tellFights(ctx, w, began)
	s.tellChanges(ctx, w, status.Conditions)
	if conditions.Is(w.Status.Conditions, workv1alpha1.ConditionApplied, metav1.ConditionFalse) {
		s.hub.Mention(ctx, hub.AboutWork(w), workv1alpha1.EventReasonSyncSucceed, r.message)
	}
	return r, nil
}

// kinds returns what is known of kinds.
func (s *Stage) kinds(ctx context.Context) (kinds.Table, error) {
	known, err := s.hub.Kinds(ctx, nil)
	if err != nil {
		return known, fmt.Errorf("get the rules of kinds: %w", err)
	}
	return known, nil
}

// statuses returns the statuses of the Work's objects. An object that finished and is
// gone has its last status.
func statuses(known kinds.Table, w *propagation.Work, bound *propagation.Binding, applied []done) []workv1alpha1.ManifestStatus {
	out := make([]workv1alpha1.ManifestStatus, len(applied))
	for i, a := range applied {
		if a.object == nil {
			out[i] = reporting.LastStatus(known, w, bound, i, a.manifest)
		} else {
			out[i] = reporting.ManifestStatus(known, i, a.manifest, a.object)
		}
		if len(applied) > 1 {
			out[i].Applied = &applied[i].state
		}
	}
	return out
}

// fail writes to the Work's status why its member does not have what is in the Work.
func (s *Stage) fail(ctx context.Context, w *propagation.Work, failure error) (result, error) {
	reason := reasonOf(failure)
	if reason == "" {
		return result{}, failure
	}
	s.tell(ctx, w, metav1.ConditionTrue)
	status := w.Status
	status.Conditions = s.dispatching(w, metav1.ConditionTrue)
	list, news := conditions.Set(status.Conditions, metav1.Condition{
		Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionFalse, Reason: reason, Message: failure.Error(), ObservedGeneration: w.Generation,
	}, s.now())
	status.Conditions = list
	if _, err := s.hub.CommitWorkStatus(ctx, w, status); err != nil {
		return result{}, fmt.Errorf("commit status of %s: %w", w.Key, err)
	}
	if news {
		s.hub.Record(ctx, hub.AboutWork(w), hub.Warning, workv1alpha1.EventReasonSyncFailed, reason+": "+failure.Error())
	}
	r := result{event: events.WorkFailed, reason: reason, message: failure.Error(), news: news}
	if wait := (*waiting)(nil); errors.As(failure, &wait) && wait.held != nil {
		var err error
		if r.heirs, err = s.contest(ctx, w, []held{*wait.held}); err != nil {
			return result{}, err
		}
	}
	return r, nil
}

// write applies the Work's manifests in order, up to the first that fails.
func (s *Stage) write(ctx context.Context, w *propagation.Work, bound *propagation.Binding) ([]done, error) {
	manifests, err := s.whole(ctx, w)
	if err != nil {
		return nil, err
	}
	m, err := s.members(ctx, w.Key.Cluster)
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", w.Key.Cluster, err)
	}
	identity, err := s.hub.Identity(ctx)
	if err != nil {
		return nil, err
	}
	applied := make([]done, len(manifests))
	for i, manifest := range manifests {
		in := applying.Input{
			Work: w, Manifest: manifest, Known: applying.KnownOf(w, manifest), Hub: identity,
			Ended: applying.Finished(w, bound, manifest), TakeOver: takeOver(w),
		}
		if applied[i], err = s.writeOne(ctx, m, in); err != nil {
			return nil, err
		}
	}
	return applied, nil
}

// takeOver returns what the policy says about objects that are not Sluice's.
func takeOver(w *propagation.Work) applying.TakeOver {
	if w.Annotations[propagation.AnnotationConflictResolution] == string(policyv1alpha1.ConflictOverwrite) {
		return applying.TakeOverAlways
	}
	return applying.TakeOverNever
}

// writeOne reads the member's object, decides, and executes the decision. What was never
// tried before is created without a read.
func (s *Stage) writeOne(ctx context.Context, m Member, in applying.Input) (done, error) {
	ref := refOf(in.Manifest)
	if !conditions.Has(in.Work.Status.Conditions, workv1alpha1.ConditionApplied) {
		if now, err := s.create(ctx, m, in); err != nil || now != nil {
			return written(in, now), err
		}
	}
	var err error
	in.Live, err = m.Look(ctx, ref, member.Looking{First: in.Known == nil, Whole: in.TakeOver == applying.TakeOverIfNoDiff})
	if err != nil {
		return done{}, err
	}
	d := applying.Decide(in)
	switch {
	case d.Action == applying.Keep:
		a := done{manifest: in.Manifest, state: d.State}
		switch {
		case in.Live.Answer == applying.Found:
			a.object, a.at = in.Live.Value.Object, in.Live.Value.At
		case d.Last != nil:
			a.object = d.Last.Object
		}
		return a, nil
	case !d.Writes():
		e := undone(in.Work.Key.Cluster, ref, d)
		if d.Reason == applying.ReasonNotOurs {
			e.held = heldBy(in)
		}
		return done{}, e
	}
	if in.Overtaken() {
		if err := s.newest(ctx, in.Work); err != nil {
			return done{}, err
		}
	}
	told, err := s.warn(ctx, in)
	if err != nil {
		return done{}, err
	}
	now, fought, err := s.send(ctx, m, in, d)
	if err != nil {
		return done{}, err
	}
	a := written(in, now)
	a.fought, a.told = fought, told
	return a, nil
}

// send applies the manifest to an object as it was read, and returns what to say if
// somebody fights over it. What the member refuses corrects nothing.
func (s *Stage) send(ctx context.Context, m Member, in applying.Input, d applying.Decision) (now *applying.Observed, fought string, err error) {
	fought = s.fought(ctx, m, in, d)
	now, err = s.put(ctx, m, in, func() (*applying.Observed, error) { return m.Write(ctx, in.Work, in.Hub, in.Manifest, in.Live.Value) })
	if err != nil {
		return nil, "", err
	}
	if applying.Corrects(in, d) {
		s.corrections.note(in.Work.Key, propagation.KeyOf(in.Manifest).ID(), s.now())
	}
	return now, fought, nil
}

// written returns the outcome for a manifest that was applied; now is the object.
func written(in applying.Input, now *applying.Observed) done {
	if now == nil {
		return done{}
	}
	return done{manifest: in.Manifest, object: now.Object, at: now.At, state: workv1alpha1.AppliedState{
		ManifestHash: propagation.HashJSON(in.Manifest), FieldsHash: now.FieldsHash, UID: now.UID, Changed: now.Changed,
	}}
}

// create applies the manifest if the member has no object of that name. Nil: it has one,
// or refused, or nothing may be written just because there is none: then the object has
// to be read.
func (s *Stage) create(ctx context.Context, m Member, in applying.Input) (*applying.Observed, error) {
	in.Live = applying.None[*applying.Observed]()
	if in.Known != nil || !applying.Decide(in).Writes() {
		return nil, nil
	}
	now, err := s.put(ctx, m, in, func() (*applying.Observed, error) { return m.Create(ctx, in.Work, in.Hub, in.Manifest) })
	if errors.Is(err, member.ErrExists) || errors.As(err, new(*member.Refused)) || errors.As(err, new(*member.NotServed)) {
		return nil, nil
	}
	return now, err
}

// newest returns an error if the Work was read in an outdated form, so that what
// another process has applied since is not reverted.
func (s *Stage) newest(ctx context.Context, w *propagation.Work) error {
	now, err := s.hub.WorkNow(ctx, w.Key)
	switch {
	case errors.Is(err, outcome.ErrGone):
		return outcome.Conflict(fmt.Errorf("%s was deleted meanwhile", w.Key))
	case err != nil:
		return fmt.Errorf("get %s: %w", w.Key, err)
	case now.UID != w.UID || now.Generation != w.Generation:
		return outcome.Conflict(fmt.Errorf("%s was read older than it is", w.Key))
	}
	return nil
}

// put writes to the member. If the member does not have the object's namespace, it is
// created, unless the namespace's owner on the hub forbids that.
func (s *Stage) put(ctx context.Context, m Member, in applying.Input, write func() (*applying.Observed, error)) (*applying.Observed, error) {
	now, err := write()
	var missing *member.NoNamespace
	if !errors.As(err, &missing) {
		return now, err
	}
	labels, nsErr := s.hub.Namespace(ctx, missing.Namespace)
	if nsErr != nil && !errors.Is(nsErr, outcome.ErrGone) {
		return nil, fmt.Errorf("get namespace %s: %w", missing.Namespace, nsErr)
	}
	if labels[skipNamespaceLabel] == "true" {
		return nil, err
	}
	if err := m.EnsureNamespace(ctx, missing.Namespace, rendering.NamespaceLabels(labels)); err != nil {
		return nil, fmt.Errorf("make namespace %s in %s: %w", missing.Namespace, in.Work.Key.Cluster, err)
	}
	return write()
}

// waiting is a decision to wait: the member does not have what is in the Work, or still
// has what is no longer in it.
type waiting struct {
	reason  applying.Reason
	message string
	held    *held // the object, if another Work has it
}

func (e *waiting) Error() string { return e.message }

// undone returns why the object was left as it is.
func undone(cluster string, ref member.Ref, d applying.Decision) *waiting {
	e := &waiting{reason: d.Reason, message: fmt.Sprintf("%s in %s: %s", ref, cluster, d.Message)}
	switch d.Reason {
	case applying.ReasonNotOurs:
		e.message = (&member.NotOurs{Cluster: cluster, Ref: ref, Work: d.Other, Hub: d.OtherHub, Lost: d.Lost}).Error()
	case applying.ReasonKindNotServed, applying.ReasonHoldsOthers:
		e.message = d.Message
	}
	return e
}

// reasonOf returns the reason of a failure that people have to know of; empty: the
// stage only has to try again.
func reasonOf(err error) string {
	var (
		wait        *waiting
		refused     *member.Refused
		notServed   *member.NotServed
		unreachable *member.Unreachable
		noNamespace *member.NoNamespace
		invalid     *invalidManifest
	)
	switch {
	case errors.As(err, &wait):
		return string(wait.reason)
	case errors.As(err, &refused):
		return reasonRefused
	case errors.As(err, &notServed):
		return string(applying.ReasonKindNotServed)
	case errors.As(err, &unreachable):
		return reasonUnreachable
	case errors.As(err, &noNamespace):
		return reasonNoNamespace
	case errors.As(err, &invalid):
		return reasonInvalid
	case errors.Is(err, outcome.ErrGone):
		return reasonNotJoined
	}
	return ""
}

// hold writes to the Work's status that it is suspended, and after a drift whether its
// objects are there; it does nothing else.
func (s *Stage) hold(ctx context.Context, w *propagation.Work, why string, drifted bool) (result, error) {
	s.tell(ctx, w, metav1.ConditionFalse)
	status := w.Status
	status.Conditions = conditions.Without(s.dispatching(w, metav1.ConditionFalse), applying.ConditionFieldsContested)
	if len(status.ManifestStatuses) == 0 {
		// A Work that was created again has no statuses yet for the objects in its
		// member.
		var known bool
		status.ManifestStatuses, known = s.seen(ctx, w)
		status.Conditions = reporting.Seen(status.Conditions, known, w.Generation, s.now())
	} else if manifests, err := manifestsOf(w); err == nil {
		status.ManifestStatuses = reporting.Named(status.ManifestStatuses, manifests)
		if drifted {
			s.missing(ctx, w, manifests, status.ManifestStatuses)
		}
	}
	if _, err := s.hub.CommitWorkStatus(ctx, w, status); err != nil {
		return result{}, fmt.Errorf("commit status of %s: %w", w.Key, err)
	}
	return result{event: events.WorkHeld, reason: workv1alpha1.ReasonSuspendDispatching, message: why}, nil
}

// missing says, in place, of which of the Work's objects the member has none any more. How
// a Job ended stays so.
func (s *Stage) missing(ctx context.Context, w *propagation.Work, manifests []map[string]any, statuses []workv1alpha1.ManifestStatus) {
	m, err := s.members(ctx, w.Key.Cluster)
	if err != nil {
		return // what was seen last stays
	}
	for i, of := range statuses {
		n := of.Identifier.Ordinal
		if n < 0 || n >= len(manifests) || applying.Finished(w, nil, manifests[n]) {
			continue
		}
		if live, err := m.Look(ctx, refOf(manifests[n]), member.Looking{}); err == nil && live.Answer == applying.Absent {
			statuses[i] = reporting.TakenAway(of)
		}
	}
}

// seen returns the statuses of the Work's objects that exist in the member already;
// false: of some it cannot be told.
func (s *Stage) seen(ctx context.Context, w *propagation.Work) (statuses []workv1alpha1.ManifestStatus, known bool) {
	manifests, err := manifestsOf(w)
	if err != nil {
		return nil, true // it has none
	}
	m, err := s.members(ctx, w.Key.Cluster)
	if err != nil {
		return nil, false
	}
	table, err := s.kinds(ctx)
	if err != nil {
		return nil, false
	}
	known = true
	for i, manifest := range manifests {
		live, err := m.Look(ctx, refOf(manifest), member.Looking{})
		switch {
		case err != nil || live.Answer == applying.CannotTell:
			known = false
		case live.Answer == applying.Found && live.Value.Ours(w):
			statuses = append(statuses, reporting.ManifestStatus(table, i, manifest, live.Value.Object))
		}
	}
	return statuses, known
}

// dispatching returns the Work's conditions with Dispatching set.
func (s *Stage) dispatching(w *propagation.Work, on metav1.ConditionStatus) []metav1.Condition {
	c := metav1.Condition{
		Type: workv1alpha1.ConditionDispatching, Status: on, Reason: workv1alpha1.ReasonDispatching,
		Message: workv1alpha1.MessageDispatching, ObservedGeneration: w.Generation,
	}
	if on == metav1.ConditionFalse {
		c.Reason, c.Message = workv1alpha1.ReasonSuspendDispatching, workv1alpha1.MessageSuspendDispatching
	}
	list, _ := conditions.Set(w.Status.Conditions, c, s.now())
	return list
}

// tell records Kubernetes events for suspension and resumption.
func (s *Stage) tell(ctx context.Context, w *propagation.Work, on metav1.ConditionStatus) {
	list := w.Status.Conditions
	if conditions.Is(list, workv1alpha1.ConditionDispatching, on) || on == metav1.ConditionTrue && !conditions.Has(list, workv1alpha1.ConditionDispatching) {
		return
	}
	message := workv1alpha1.MessageDispatching
	if on == metav1.ConditionFalse {
		message = workv1alpha1.MessageSuspendDispatching
	}
	s.hub.Record(ctx, hub.AboutWork(w), hub.Normal, workv1alpha1.EventReasonWorkDispatching, message)
}

// invalidManifest says which manifest of a Work cannot be decoded.
type invalidManifest struct{ error }

func (e *invalidManifest) Unwrap() error { return e.error }

// genuine returns an error if a manifest is not of the Work's template.
func genuine(w *propagation.Work, manifests []map[string]any) error {
	template, err := w.Template()
	if err != nil {
		return err
	}
	for i, m := range manifests {
		if err := template.Identifies(m); err != nil {
			return fmt.Errorf("spec.workload.manifests[%d]: %w", i, err)
		}
	}
	return nil
}

func manifestsOf(w *propagation.Work) ([]map[string]any, error) {
	if len(w.Spec.Workload.Manifests) == 0 {
		return nil, &invalidManifest{errors.New("spec.workload.manifests is empty")}
	}
	out := make([]map[string]any, len(w.Spec.Workload.Manifests))
	for i, m := range w.Spec.Workload.Manifests {
		if err := decode(m.RawExtension, &out[i]); err != nil {
			return nil, &invalidManifest{fmt.Errorf("spec.workload.manifests[%d]: %w", i, err)}
		}
	}
	return out, nil
}

func decode(raw runtime.RawExtension, into *map[string]any) error {
	if err := json.Unmarshal(raw.Raw, into); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

func refOf(manifest map[string]any) member.Ref {
	meta, _ := manifest["metadata"].(map[string]any)
	text := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	return member.Ref{APIVersion: text(manifest, "apiVersion"), Kind: text(manifest, "kind"), Namespace: text(meta, "namespace"), Name: text(meta, "name")}
}
