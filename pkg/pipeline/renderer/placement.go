// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/core/rollout"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/carrying"
)

// placement updates the Works that a placement has in one member from its binding
// there. If the binding is not bound yet, or is about to be deleted, the Works stay. A
// missing binding counts only if the placement's decision leaves the member out.
func (s *Stage) placement(ctx context.Context, e event.Event, msg events.Data) ([]event.Event, error) {
	existing, err := s.hub.WorksOfPlacementOn(ctx, msg.Placement, msg.Cluster)
	unserved := outcome.UnlessGone(ctx, err, s.hub.PlacementWorksUndefined)
	if unserved != nil && !errors.Is(unserved, outcome.ErrNotServed) {
		return nil, fmt.Errorf("list the Works of placement %s in %s: %w", msg.Placement, msg.Cluster, err)
	}
	kept := s.keptOf(ctx, existing)
	p, b, going, err := s.bound(ctx, msg.Placement, msg.Cluster)
	if err != nil {
		return nil, err
	}
	if unserved != nil {
		return nil, s.unsaid(ctx, going, "Works", unserved)
	}
	var desired []*propagation.Work
	switch {
	case p == nil || p.DeletionTimestamp != nil:
	case b == nil || b.Spec.State != placementv1.BindingStateBound:
		policies, err := s.hub.PolicySnapshotsOf(ctx, msg.Placement)
		if err = outcome.UnlessGone(ctx, err, s.hub.PolicySnapshotsUndefined); err != nil {
			return nil, s.unsaid(ctx, going, "the snapshots of policies", err)
		}
		if !telling.LeavesOut(p, policies, msg.Cluster) {
			// The missing binding is created again, when those that are going are gone.
			out := events.From(Name, e)
			if err := s.release(ctx, going, out); err != nil {
				return nil, err
			}
			return out.Events()
		}
		if b != nil {
			return nil, nil // it is being deleted itself
		}
	default:
		desired, err = s.placed(ctx, p, b)
		var failure *rendering.PlacementError
		switch {
		case errors.As(err, &failure):
			return s.unplaced(ctx, e, msg, b, failure)
		case errors.Is(err, outcome.ErrGone): // a part of the snapshot, or an override, is missing
			return s.unplaced(ctx, e, msg, b, missing(b))
		case err != nil:
			return nil, err
		}
		if err := s.unfail(ctx, b); err != nil {
			return nil, err
		}
	}
	out := events.From(Name, e)
	if len(existing) == 0 || b != nil {
		if err := s.release(ctx, going, out); err != nil {
			return nil, err
		}
	}
	if err := s.deliver(ctx, out, msg, rendering.PlanPlacement(existing, desired), kept); err != nil {
		return nil, err
	}
	return out.Events()
}

// bound returns the placement, its binding to the cluster, and those that are being
// deleted; nil for what does not exist.
func (s *Stage) bound(ctx context.Context, placement, cluster string) (p *placementv1.ClusterResourcePlacement, b *placementv1.ClusterResourceBinding, going []*placementv1.ClusterResourceBinding, err error) {
	p, err = s.hub.Placement(ctx, placement)
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return nil, nil, nil, fmt.Errorf("get placement %s: %w", placement, err)
	}
	all, err := s.hub.PlacementBindingsOf(ctx, placement)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("list the bindings of placement %s: %w", placement, err)
	}
	for _, b := range all {
		if b.Spec.TargetCluster == cluster && b.DeletionTimestamp != nil {
			going = append(going, b)
		}
	}
	return p, telling.BindingTo(all, cluster), going, nil
}

// unsaid writes to bindings that are being deleted what they wait for: what could not be
// read. It returns why.
func (s *Stage) unsaid(ctx context.Context, going []*placementv1.ClusterResourceBinding, what string, why error) error {
	why = fmt.Errorf("list %s: %w", what, why)
	if !errors.Is(why, outcome.ErrNotServed) {
		return why
	}
	return outcome.Join(why, each(ctx, len(going), func(i int) error {
		_, err := s.unsynced(ctx, going[i], placementv1.ConditionWorkSynchronized, placementv1.ReasonSyncWorkFailed,
			"it is being deleted, and waits: the hub does not serve "+what+", so nobody can tell whether its Works have to go first")
		return err
	}))
}

// unsynced writes a condition that is False to the binding's status; true: it is new.
func (s *Stage) unsynced(ctx context.Context, b *placementv1.ClusterResourceBinding, condition, reason, message string) (news bool, err error) {
	c := metav1.Condition{Type: condition, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: b.Generation}
	status := *b.Status.DeepCopy()
	status.Conditions, news = conditions.Set(status.Conditions, c, s.now())
	if _, err := s.hub.CommitPlacementBindingStatus(ctx, b, status); err != nil {
		return news, fmt.Errorf("commit status of the binding %s: %w", b.Name, err)
	}
	return news, nil
}

// release removes the finalizer from bindings whose Works are gone, and emits an event
// for the rollout, which may have waited for that. What somebody else holds still is told
// of once.
func (s *Stage) release(ctx context.Context, going []*placementv1.ClusterResourceBinding, out *events.Batch) error {
	going = slices.DeleteFunc(going, func(b *placementv1.ClusterResourceBinding) bool {
		return !slices.Contains(b.Finalizers, placementv1.FinalizerWork)
	})
	err := each(ctx, len(going), func(i int) error {
		next := going[i].DeepCopy()
		next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool { return f == placementv1.FinalizerWork })
		if _, err := s.hub.CommitPlacementBinding(ctx, going[i], next); err != nil && !errors.Is(err, outcome.ErrGone) {
			return fmt.Errorf("release the binding %s: %w", next.Name, err)
		}
		return nil
	})
	if err == nil && len(going) > 0 {
		out.Emit(events.PlacementScheduled, events.Data{Placement: going[0].Labels[placementv1.LabelParentCRP], Reason: "Released"})
	}
	return err
}

// placed returns the Works that the binding asks for. outcome.ErrGone: a part of the
// snapshot is missing.
func (s *Stage) placed(ctx context.Context, p *placementv1.ClusterResourcePlacement, b *placementv1.ClusterResourceBinding) ([]*propagation.Work, error) {
	in, err := carrying.Load(ctx, s.hub, p.Name, b)
	if err != nil {
		return nil, err
	}
	in.Suspended = propagation.PlacementSuspended(p.Annotations, b.Spec.TargetCluster)
	return rendering.PlacementWorks(in)
}

// missing is the failure for a binding that names something that does not exist.
func missing(b *placementv1.ClusterResourceBinding) *rendering.PlacementError {
	if went := rollout.Undefined(b.Annotations[rollout.AnnotationUndefined]); went != "" {
		return &rendering.PlacementError{Reason: placementv1.ReasonSyncWorkFailed, Message: went}
	}
	return &rendering.PlacementError{Reason: placementv1.ReasonSyncWorkFailed, Message: fmt.Sprintf(
		"snapshot %s, or the snapshot of an override of it, is missing or is not what Sluice made; the cluster keeps what it has", b.Spec.ResourceSnapshotName)}
}

// unplaced writes to the binding's status why the member's Works cannot be rendered.
// The member keeps what it has. The placer gets one event about what is missing: if it
// does not replace that, nothing can be done until somebody else does.
func (s *Stage) unplaced(ctx context.Context, e event.Event, msg events.Data, b *placementv1.ClusterResourceBinding, failure *rendering.PlacementError) ([]event.Event, error) {
	condition := placementv1.ConditionOverridden
	if failure.Reason != placementv1.ReasonOverriddenFailed {
		condition = placementv1.ConditionWorkSynchronized
	}
	news, err := s.unsynced(ctx, b, condition, failure.Reason, failure.Message)
	if err != nil {
		return nil, err
	}
	out := events.From(Name, e)
	if news && *failure == *missing(b) {
		out.Emit(events.PlacementTouched, events.Data{Placement: msg.Placement, Reason: "SnapshotMissing"})
	}
	out.Emit(events.PlacementWaiting, events.Data{Placement: msg.Placement, Cluster: msg.Cluster, Reason: failure.Reason, Message: failure.Message})
	return out.Events()
}

// unfail removes the conditions that unplaced wrote. That all is well is written by the
// reporter.
func (s *Stage) unfail(ctx context.Context, b *placementv1.ClusterResourceBinding) error {
	status := *b.Status.DeepCopy()
	status.Conditions = nil
	failed := []string{placementv1.ReasonOverriddenFailed, placementv1.ReasonSyncWorkFailed, placementv1.ReasonTooLarge}
	for _, c := range b.Status.Conditions {
		if c.Status != metav1.ConditionFalse || !slices.Contains(failed, c.Reason) {
			status.Conditions = append(status.Conditions, c)
		}
	}
	if len(status.Conditions) == len(b.Status.Conditions) {
		return nil
	}
	if _, err := s.hub.CommitPlacementBindingStatus(ctx, b, status); err != nil {
		return fmt.Errorf("commit status of the binding %s: %w", b.Name, err)
	}
	return nil
}

// deliver executes the steps and announces the Works.
func (s *Stage) deliver(ctx context.Context, out *events.Batch, msg events.Data, steps []rendering.Step, kept kept) error {
	works, err := s.takeAll(ctx, steps, kept)
	if err != nil {
		return err
	}
	template := propagation.PlacementKey(msg.Placement)
	for i, step := range steps {
		w := works[i]
		if w == nil {
			continue
		}
		data := events.Data{
			Template: &template, Placement: msg.Placement, SnapshotIndex: w.Labels[placementv1.LabelParentSnapshotIndex],
			Work: &w.Key, WorkVersion: w.ResourceVersion, Cluster: w.Key.Cluster, Reason: string(step.Action),
		}
		switch {
		case step.Action == rendering.Leave && (w.LetGo() || step.Desired != nil && msg.Reason == string(applying.ReasonWanted)): // the applier did what it can now
		case step.Action == rendering.Delete, step.Action == rendering.Leave:
			out.EmitWork(events.WorkRemoved, data)
		default:
			out.EmitWork(events.WorkRendered, data)
		}
	}
	return nil
}
