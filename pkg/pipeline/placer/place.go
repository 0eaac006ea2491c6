// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/pending"
)

// finalizers keep a placement until its objects are gone: the placer's, and the
// scheduler's, which is set here to save a write.
var finalizers = []string{placementv1.FinalizerPlacement, placementv1.FinalizerScheduler}

// place updates the snapshots of a placement to its policy and, if that is due, to what
// it selects.
func (s *Stage) place(ctx context.Context, e event.Event, name string) ([]event.Event, error) {
	p, err := s.hub.Placement(ctx, name)
	if errors.Is(err, outcome.ErrGone) {
		return nil, s.pending.Forget(ctx, name)
	}
	if err != nil {
		return nil, fmt.Errorf("get placement %s: %w", name, err)
	}
	if p.DeletionTimestamp != nil {
		return s.leave(ctx, e, p)
	}
	taken, err := s.pending.Take(ctx, name)
	if err != nil {
		return nil, err
	}
	if p, err = s.hold(ctx, p); err != nil {
		return nil, err
	}
	index, err := s.keep(ctx, p, taken)
	var no refusal
	if errors.As(err, &no) {
		return nil, s.refuse(ctx, p, taken, no)
	}
	if err != nil && !outcome.IsPartly(err) || index < 0 {
		return nil, err
	}
	out := events.From(Name, e)
	out.Emit(events.PlacementSnapshotted, events.Data{Placement: name, SnapshotIndex: strconv.Itoa(index), Reason: "Snapshotted"})
	told, wrong := out.Events()
	return told, cmp.Or(wrong, err)
}

// keep stores what the placement selects, and its policy, in snapshots, and returns the
// index of the latest resource snapshot; -1: there is none. While the selectors are
// refused, a changed policy does not take effect either. If the selected objects cannot
// be read, although the selectors took effect before, the policy takes effect, and the
// next tick tries again.
func (s *Stage) keep(ctx context.Context, p *placementv1.ClusterResourcePlacement, taken pending.Taken) (int, error) {
	policies, err := s.policies(ctx, p)
	if err != nil {
		return -1, err
	}
	c, err := s.choose(ctx, p, taken)
	var no refusal
	unread := err != nil && !errors.As(err, &no) && !outcome.IsConflict(err) && c.at.Stands() && !placing.Refused(p)
	if err != nil && !unread {
		return -1, err
	}
	if !c.refused || placing.LatestPolicy(p, policies) == nil && placing.PickedBy(p, c.have.bindings) {
		if err := s.policy(ctx, p, policies); err != nil {
			return -1, err
		}
	}
	if unread {
		return c.plan.Index, outcome.Partly(err)
	}
	return s.resources(ctx, p, taken, c)
}

// hold sets the finalizers on the placement.
func (s *Stage) hold(ctx context.Context, p *placementv1.ClusterResourcePlacement) (*placementv1.ClusterResourcePlacement, error) {
	if slices.Contains(p.Finalizers, placementv1.FinalizerPlacement) {
		return p, nil
	}
	next := p.DeepCopy()
	for _, f := range finalizers {
		if !slices.Contains(next.Finalizers, f) {
			next.Finalizers = append(next.Finalizers, f)
		}
	}
	held, err := s.hub.CommitPlacement(ctx, p, next)
	if err != nil {
		return nil, fmt.Errorf("hold placement %s: %w", p.Name, err)
	}
	return held, nil
}

// owned makes the placement the owner of its snapshots.
func owned(p *placementv1.ClusterResourcePlacement) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(p, placementv1.SchemeGroupVersion.WithKind(placementv1.KindClusterResourcePlacement))}
}

// policies returns the snapshots of the placement's policy. It deletes those that are
// not genuine.
func (s *Stage) policies(ctx context.Context, p *placementv1.ClusterResourcePlacement) ([]*placementv1.ClusterSchedulingPolicySnapshot, error) {
	all, err := s.hub.PolicySnapshotsOf(ctx, p.Name)
	if err != nil {
		return nil, fmt.Errorf("list the policies of placement %s: %w", p.Name, err)
	}
	stored, forged := placing.GenuinePolicies(p, all)
	for _, f := range forged {
		if err := s.hub.DeletePolicySnapshot(ctx, f.Object); err != nil {
			return nil, fmt.Errorf("delete policy snapshot %s: %w", f.Object.Name, err)
		}
		s.tellForged(ctx, p, f.Object.Name, f.Why)
	}
	return stored, nil
}

// policy stores the placement's policy in a snapshot.
func (s *Stage) policy(ctx context.Context, p *placementv1.ClusterResourcePlacement, stored []*placementv1.ClusterSchedulingPolicySnapshot) error {
	plan := placing.NextPolicy(p, stored)
	if plan.Create != nil {
		plan.Create.OwnerReferences = owned(p)
		if _, err := s.hub.CommitPolicySnapshot(ctx, nil, plan.Create); err != nil {
			return fmt.Errorf("make policy snapshot %s: %w", plan.Create.Name, err)
		}
	}
	for _, e := range plan.Edit {
		next := e.DeepCopy()
		next.Labels = labelled(next.Labels, e.Latest)
		for key, value := range e.Annotations {
			if value == "" {
				delete(next.Annotations, key)
				continue
			}
			if next.Annotations == nil {
				next.Annotations = map[string]string{}
			}
			next.Annotations[key] = value
		}
		if _, err := s.hub.CommitPolicySnapshot(ctx, e.ClusterSchedulingPolicySnapshot, next); err != nil {
			return fmt.Errorf("edit policy snapshot %s: %w", e.Name, err)
		}
	}
	for _, old := range plan.Prune {
		if err := s.hub.DeletePolicySnapshot(ctx, old); err != nil {
			return fmt.Errorf("delete policy snapshot %s: %w", old.Name, err)
		}
	}
	return nil
}

func labelled(labels map[string]string, latest bool) map[string]string {
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	out[placementv1.LabelIsLatestSnapshot] = strconv.FormatBool(latest)
	return out
}

// refuse writes to the placement's status that its selectors are an error. The members
// keep what they had; a change makes the placer try again.
func (s *Stage) refuse(ctx context.Context, p *placementv1.ClusterResourcePlacement, taken pending.Taken, no refusal) error {
	inside, err := s.inside(ctx, []*placementv1.ClusterResourcePlacement{p})
	if err != nil {
		return err
	}
	policies, err := s.hub.PolicySnapshotsOf(ctx, p.Name)
	if err != nil {
		return fmt.Errorf("list the policies of placement %s: %w", p.Name, err)
	}
	message := no.Error()
	switch {
	case placing.PolicyWaits(p, policies):
		message += "; the policy that came with it waits, too, and the former one stays in force"
	case len(policies) > 0 && placing.LatestPolicy(p, policies) == nil:
		message += "; the policy's latest snapshot is gone, and nothing moves until the selectors are mended"
	}
	if conditions, changed := placing.Refuse(p, message, s.now()); changed {
		status := *p.Status.DeepCopy()
		status.Conditions = conditions
		if _, err := s.hub.CommitPlacementStatus(ctx, p, status); err != nil {
			return fmt.Errorf("refuse the selectors of placement %s: %w", p.Name, err)
		}
	}
	mark := placing.MarkOf(p, inside)
	mark.Refused = true
	return s.pending.Done(ctx, p.Name, taken, mark.String(), time.Time{})
}

// accept removes the condition that the selectors were refused. If everything was read,
// it also writes which rights were missing. It returns when that has to be read again;
// zero: never.
func (s *Stage) accept(ctx context.Context, p *placementv1.ClusterResourcePlacement, c choice) (again time.Time, err error) {
	list, changed := placing.Accept(p, s.now())
	if c.all {
		var news bool
		list, news = placing.Granted(list, p.Generation, c.missing, s.now())
		changed = changed || news
	}
	if changed {
		status := *p.Status.DeepCopy()
		status.Conditions = list
		if _, err := s.hub.CommitPlacementStatus(ctx, p, status); err != nil {
			return again, fmt.Errorf("accept the selectors of placement %s: %w", p.Name, err)
		}
	}
	switch {
	case c.all:
		again = placing.TryAgain(list, s.now())
	case len(c.missing) > 0 && c.at.Selected.Again.IsZero():
		again = s.now() // a right to the changes is missing; others may be missing, too
	default:
		again = c.at.Selected.Again
	}
	if !again.IsZero() {
		s.remind(ctx, p.Name, again.Sub(s.now()))
	}
	return again, nil
}
