// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/outcome"
)

// remake makes a Work anew that is being deleted. A deletion cannot be taken back, so the
// Work has to go first. In between another stands in for it, which has the binding's other
// name: otherwise nothing on the hub would tell what the member has, and if the template
// were deleted before the new Work is there, that would stay for good (decision 0081).
func (s *Stage) remake(ctx context.Context, step rendering.Step) (*propagation.Work, error) {
	former, desired := step.Existing, step.Desired
	if former.Key != desired.Key { // it has the other name itself, and goes when it is superseded
		switch w, err := s.hub.CommitWork(ctx, nil, desired); {
		case err == nil:
			return s.inherit(ctx, w, former)
		case !noRoom(err):
			return nil, fmt.Errorf("commit %s: %w", desired.Key, err)
		}
	} else if err := s.standIn(ctx, desired); err != nil {
		return nil, err
	}
	if err := s.hub.ReleaseWork(ctx, former); err != nil {
		return nil, fmt.Errorf("release %s: %w", former.Key, err)
	}
	w, err := s.take(ctx, rendering.Step{Action: rendering.Create, Desired: desired})
	if err != nil || w == nil {
		return nil, err
	}
	return s.inherit(ctx, w, former)
}

// standIn makes a Work of the binding's former name, and deletes it. It waits, as the
// record of what the member has, until the desired one is there and supersedes it, or until
// it is proven that the object may go. A placement needs none: its binding waits for its
// Works.
func (s *Stage) standIn(ctx context.Context, desired *propagation.Work) error {
	if desired.Key.Form != propagation.PolicyForm {
		return nil
	}
	other := *desired
	other.Key.Name = propagation.FormerWorkName(desired.Binding())
	w, err := s.hub.CommitWork(ctx, nil, &other)
	switch {
	case outcome.IsConflict(err), noRoom(err): // there is one already, or all Works there go
		return nil
	case err != nil:
		return fmt.Errorf("commit %s: %w", other.Key, err)
	}
	if err := s.hub.DeleteWork(ctx, w); err != nil {
		return fmt.Errorf("delete %s: %w", w.Key, err)
	}
	return nil
}

// noRoom reports whether a Work could not be made because its namespace or the definition of
// Works is being deleted, or gone: that waits for the Works that are there.
func noRoom(err error) bool {
	return errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed)
}

// inherit records on a Work that was made anew what the former one knew of the member:
// what it had brought, otherwise nobody would know of what is taken from the Work, or of
// all of it if that is deleted, before it is applied; and that a Job has ended, otherwise
// it would run again.
func (s *Stage) inherit(ctx context.Context, w, former *propagation.Work) (*propagation.Work, error) {
	var err error
	switch statuses, has := former.Status.ManifestStatuses, broughtBy(former); {
	case w.Key.Form == propagation.PlacementForm && len(has) > 0:
		w, err = s.hub.CommitWorkResults(ctx, w, placementv1.WorkStatus{ManifestConditions: has})
	case w.Key.Form == propagation.PolicyForm && runsOnce(w) && len(statuses) > 0:
		w, err = s.hub.CommitWorkStatus(ctx, w, workv1alpha1.WorkStatus{ManifestStatuses: statuses})
	}
	if err != nil {
		return nil, fmt.Errorf("record what %s had: %w", former.Key, err)
	}
	return w, nil
}

func broughtBy(w *propagation.Work) (has []placementv1.ManifestCondition) {
	for _, r := range telling.Brought(w) {
		has = append(has, placementv1.ManifestCondition{Identifier: r.Identifier, Applied: cmp.Or(r.Applied, &placementv1.AppliedState{})})
	}
	return has
}

func runsOnce(w *propagation.Work) bool {
	t, err := w.Template()
	return err == nil && applying.RunsOnce(t)
}
