// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
)

// end does what is decided about an object that shall not be there any more, which the
// member was asked for, and returns what there is to do then. What an object holds is
// asked only where it would leave.
func (s *Stage) end(ctx context.Context, m Member, ref member.Ref, in applying.Input, account func() (applying.Account, error)) (applying.Decision, error) {
	d := applying.Decide(in)
	if d.AsksInside {
		a, err := account()
		if err != nil {
			return d, err
		}
		if in.Inside, err = m.Inside(ctx, applying.HolderOf(in.Live.Value.Object), a); err != nil {
			return d, fmt.Errorf("look what %s in %s holds: %w", ref, in.Work.Key.Cluster, err)
		}
		d = applying.Decide(in)
	}
	if d.Action == applying.Wait && d.Reason == applying.ReasonHoldsOthers {
		var err error
		if in.Blocking, err = s.hub.WorksLeave(ctx, in.Work.Key); err != nil {
			return d, err
		}
		d = applying.Decide(in)
	}
	if passing, ok := d.Passing(); ok {
		return d, s.passOn(ctx, m, ref, passing)
	}
	removal, ok := d.Removal()
	if !ok {
		return d, nil
	}
	gone, err := m.Delete(ctx, ref, removal)
	if err != nil {
		return d, fmt.Errorf("delete %s in %s: %w", ref, in.Work.Key.Cluster, err)
	}
	if !gone {
		return applying.Decision{Action: applying.Wait, Reason: applying.ReasonTerminating, Message: "it is being deleted, and something keeps it there"}, nil
	}
	d.Reason = applying.ReasonDeleted
	return d, nil
}

// accountOf is what the removal of a placement's object accounts for: all that the
// placement gave to the member, but for what it gives on.
func (s *Stage) accountOf(ctx context.Context, e applying.PlacementEvidence, identity string) (applying.Account, error) {
	a := applying.Account{Hub: identity, Owners: e.Work.Owners()}
	works, err := s.hub.WorksOfPlacementOn(ctx, e.Work.Placement(), e.Work.Key.Cluster)
	if err != nil {
		return a, fmt.Errorf("list the Works of placement %s in %s: %w", e.Work.Placement(), e.Work.Key.Cluster, err)
	}
	for _, w := range works {
		a.Owners = append(a.Owners, w.Owners()...)
	}
	a.Stays = func(i applying.Inhabitant) bool {
		_, given := e.Gives.Value[propagation.TemplateKey{APIVersion: i.Group + "/v", Kind: i.Kind, Namespace: i.Namespace, Name: i.Name}.ID()]
		return given
	}
	return a, nil
}

// sayAfter is how long what holds an object of a Work that is deleted is not told of: most
// of it goes in a moment.
const sayAfter = 2 * time.Second

// heldBack is the result of an object that is held, with why.
func (s *Stage) heldBack(w *propagation.Work, r placementv1.ManifestCondition, d applying.Decision) placementv1.ManifestCondition {
	r.Conditions, _ = conditions.Set(slices.Clone(r.Conditions), metav1.Condition{
		Type: placementv1.ConditionApplied, Status: metav1.ConditionFalse, Reason: string(d.Reason), Message: d.Message, ObservedGeneration: w.Generation,
	}, s.now())
	return r
}

// sayLeft says on a Work that is being deleted what of it is held, and why.
func (s *Stage) sayLeft(ctx context.Context, w *propagation.Work, left []placementv1.ManifestCondition) error {
	if s.now().Sub(w.Deleted) < sayAfter {
		return nil
	}
	results := slices.Clone(w.Results)
	var news string
	for i, r := range results {
		if now := telling.ResultOf(left, r.Identifier); now != nil {
			if why := telling.HoldsOthers(*now); why != "" && why != telling.HoldsOthers(r) {
				news = why
			}
			results[i] = *now
		}
	}
	if news == "" {
		return nil
	}
	if _, err := s.hub.CommitWorkResults(ctx, w, placementv1.WorkStatus{Conditions: w.Status.Conditions, ManifestConditions: results}); err != nil {
		return fmt.Errorf("commit status of %s: %w", w.Key, err)
	}
	s.hub.Record(ctx, hub.AboutWork(w), hub.Warning, string(applying.ReasonHoldsOthers), news)
	return nil
}
