// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
)

// The reasons of a Work that its member does not have as it says.
const (
	reasonNotJoined    = "ClusterNotJoined"
	reasonUnreachable  = "ClusterUnreachable"
	reasonNotServed    = "KindNotServed"
	reasonRefused      = "RefusedByMember"
	reasonConflict     = "ExistsAndIsNotOurs"
	reasonInvalid      = "InvalidManifest"
	reasonNoNamespace  = "NamespaceSkipped"
	skipNamespaceLabel = "namespace.karmada.io/skip-auto-propagation"
)

// apply brings the member up to the Work, and says on the Work how that went.
// What was applied and has not settled is said by the reporter when it has, so
// that it costs one write, unless somebody waits for it (urgent).
func (s *Stage) apply(ctx context.Context, w *propagation.Work, urgent bool) (result, error) {
	applied, err := s.write(ctx, w)
	if err != nil {
		return s.fail(ctx, w, err)
	}
	r := result{event: events.WorkApplied, reason: reporting.ReasonApplied, message: reporting.MessageApplied}
	var manifests []workv1alpha1.ManifestStatus
	settling := false
	for i, a := range applied {
		manifests = append(manifests, reporting.ManifestStatus(i, a.Object))
		settling = settling || reporting.Settling(a.Object)
	}
	status := reporting.Succeeded(w, applied[0].State, manifests, s.now())
	if known := w.Status.Applied; settling && !urgent && reporting.Patient(w) && (known == nil || *known != applied[0].State) {
		return result{event: events.WorkApplied, reason: "Settling", message: "the member has what the Work says, and works on it"}, nil
	}
	s.tell(ctx, w, metav1.ConditionTrue)
	if _, err := s.hub.CommitWorkStatus(ctx, w, status); err != nil {
		return result{}, fmt.Errorf("commit status of %s: %w", w.Key, err)
	}
	return r, nil
}

// fail says on the Work why its member does not have what it says.
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
		s.hub.Record(ctx, aboutWork(w), hub.Warning, reason, failure.Error())
	}
	return result{event: events.WorkFailed, reason: reason, message: failure.Error()}, nil
}

// write applies the Work's manifests in their order; the first that fails ends
// it.
func (s *Stage) write(ctx context.Context, w *propagation.Work) ([]member.Applied, error) {
	manifests, err := manifestsOf(w)
	if err != nil {
		return nil, err
	}
	m, err := s.members(ctx, w.Key.Cluster)
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", w.Key.Cluster, err)
	}
	applied := make([]member.Applied, len(manifests))
	for i, manifest := range manifests {
		if applied[i], err = s.writeOne(ctx, m, w, i, manifest); err != nil {
			return nil, err
		}
	}
	return applied, nil
}

// writeOne applies one manifest; the namespace that it lives in is made where
// the member has none, unless its owner on the hub asked for the contrary.
func (s *Stage) writeOne(ctx context.Context, m Member, w *propagation.Work, i int, manifest map[string]any) (member.Applied, error) {
	opt := member.Options{Overwrite: w.Annotations[propagation.AnnotationConflictResolution] == string(policyv1alpha1.ConflictOverwrite)}
	applied, err := m.Apply(ctx, w, i, manifest, opt)
	var missing *member.NoNamespace
	if !errors.As(err, &missing) {
		return applied, err
	}
	labels, nsErr := s.hub.Namespace(ctx, missing.Namespace)
	if nsErr != nil && !errors.Is(nsErr, outcome.ErrGone) {
		return applied, fmt.Errorf("get namespace %s: %w", missing.Namespace, nsErr)
	}
	if labels[skipNamespaceLabel] == "true" {
		return applied, err
	}
	if err := m.EnsureNamespace(ctx, missing.Namespace); err != nil {
		return applied, fmt.Errorf("make namespace %s in %s: %w", missing.Namespace, w.Key.Cluster, err)
	}
	return m.Apply(ctx, w, i, manifest, opt)
}

// reasonOf names a failure that people have to know of; empty: it is ours to
// try again.
func reasonOf(err error) string {
	var (
		notOurs     *member.NotOurs
		refused     *member.Refused
		notServed   *member.NotServed
		unreachable *member.Unreachable
		noNamespace *member.NoNamespace
		invalid     *invalidManifest
	)
	switch {
	case errors.As(err, &notOurs):
		return reasonConflict
	case errors.As(err, &refused):
		return reasonRefused
	case errors.As(err, &notServed):
		return reasonNotServed
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

// hold says on the Work that it is suspended, and does nothing else.
func (s *Stage) hold(ctx context.Context, w *propagation.Work, why string) (result, error) {
	s.tell(ctx, w, metav1.ConditionFalse)
	status := w.Status
	status.Conditions = s.dispatching(w, metav1.ConditionFalse)
	if _, err := s.hub.CommitWorkStatus(ctx, w, status); err != nil {
		return result{}, fmt.Errorf("commit status of %s: %w", w.Key, err)
	}
	return result{event: events.WorkHeld, reason: workv1alpha1.ReasonSuspendDispatching, message: why}, nil
}

// dispatching is the Work's conditions with Dispatching set.
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

// tell records suspension and resumption.
func (s *Stage) tell(ctx context.Context, w *propagation.Work, on metav1.ConditionStatus) {
	list := w.Status.Conditions
	if conditions.Is(list, workv1alpha1.ConditionDispatching, on) || on == metav1.ConditionTrue && !conditions.Has(list, workv1alpha1.ConditionDispatching) {
		return
	}
	message := workv1alpha1.MessageDispatching
	if on == metav1.ConditionFalse {
		message = workv1alpha1.MessageSuspendDispatching
	}
	s.hub.Record(ctx, aboutWork(w), hub.Normal, workv1alpha1.EventReasonWorkDispatching, message)
}

// invalidManifest says which manifest of a Work cannot be read.
type invalidManifest struct{ error }

func (e *invalidManifest) Unwrap() error { return e.error }

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
