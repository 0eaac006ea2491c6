// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/rollout"
	"sluice.dev/pkg/core/rollout/staged"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// changed handles the change of an override, of a run, or of a request for an approval.
func (s *Stage) changed(ctx context.Context, e event.Event) ([]event.Event, error) {
	o, err := events.DecodeResource(e)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	run, edited := hub.UpdateRunKeyOf(o.TemplateKey)
	request, asked := hub.ApprovalRequestKeyOf(o.TemplateKey)
	switch {
	case asked:
		if run, err = s.answered(ctx, request); err != nil || run == "" {
			return nil, err
		}
	case !edited:
		return s.overridden(ctx, e, o)
	}
	r, err := s.hub.UpdateRun(ctx, run)
	if errors.Is(err, outcome.ErrGone) {
		forget(run)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get run %s: %w", run, err)
	}
	if staged.Ended(r) || edited && staged.Seen(r) {
		return nil, nil // it is this stage's own writing
	}
	out := events.From(Name, e)
	out.Emit(events.PlacementScheduled, events.Data{Placement: r.Spec.PlacementName, Reason: "RunChanged"})
	return out.Events()
}

// answered returns the run that waits for a request; empty: none.
func (s *Stage) answered(ctx context.Context, name string) (run string, err error) {
	r, err := s.hub.ApprovalRequest(ctx, name)
	if errors.Is(err, outcome.ErrGone) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get approval request %s: %w", name, err)
	}
	return r.Spec.TargetUpdateRun, nil
}

// running returns the placements of runs that have not ended.
func (s *Stage) running(ctx context.Context) (placements []string, err error) {
	runs, err := s.hub.UpdateRuns(ctx)
	if errors.Is(err, outcome.ErrNotServed) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	for _, r := range runs {
		if !staged.Ended(r) {
			placements = append(placements, r.Spec.PlacementName)
		}
	}
	return placements, nil
}

// situation is what the runs of a placement depend on, as far as it is known.
type situation struct {
	name string
	// kind is the type of the event that is handled.
	kind string
	rollout.Input
	policy    *placementv1.ClusterSchedulingPolicySnapshot
	snapshots []*placementv1.ClusterResourceSnapshot
	overrides stored
	// requests and members are all there are; follow reads them.
	requests []*placementv1.ClusterApprovalRequest
	members  []*memberclusterv1.MemberCluster
}

// follow advances the placement's runs, and returns what they allow; nil: nothing. What
// members of a placement report that rolls out by itself concerns no run.
func (s *Stage) follow(ctx context.Context, at situation) (*rollout.Run, error) {
	if at.kind != events.PlacementScheduled && (at.Placement == nil || !at.Placement.Spec.Strategy.External()) {
		return nil, nil
	}
	runs, err := s.hub.UpdateRuns(ctx)
	if errors.Is(err, outcome.ErrNotServed) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	if runs = staged.Of(at.name, runs); len(runs) == 0 {
		return nil, nil
	}
	if at.policy != nil {
		if at.requests, err = s.hub.ApprovalRequests(ctx); err != nil {
			return nil, fmt.Errorf("list approval requests: %w", err)
		}
		if at.members, err = s.hub.Fleet(ctx); err != nil {
			return nil, err
		}
	}
	var allowed *rollout.Run
	busy := ""
	for _, r := range runs {
		in, err := s.gather(ctx, at, r)
		if err != nil {
			return nil, err
		}
		in.Busy = busy
		plan := staged.Next(in)
		if r, err = s.commit(ctx, r, plan); err != nil {
			return nil, err
		}
		if plan.Allows != nil {
			allowed = plan.Allows
		}
		if staged.Begun(r) && !staged.Ended(r) {
			busy = r.Name
		}
	}
	return allowed, nil
}

// gather reads what one run depends on.
func (s *Stage) gather(ctx context.Context, at situation, r *placementv1.ClusterStagedUpdateRun) (staged.Input, error) {
	in := staged.Input{
		Run: r, Placement: at.Placement, Policy: at.policy, Picked: at.Picked, Index: staged.Index(r, at.Index),
		Overrides: at.Overrides, Undefined: at.Undefined, Bindings: at.Bindings, Requests: at.requests, Members: at.members, Now: s.now(),
	}
	if !staged.Initialized(r) {
		strategy, err := s.hub.UpdateStrategy(ctx, r.Spec.StagedUpdateStrategyName)
		if err != nil && !errors.Is(err, outcome.ErrGone) {
			return in, fmt.Errorf("get strategy %s: %w", r.Spec.StagedUpdateStrategyName, err)
		}
		if err == nil {
			in.Strategy = strategy
		}
	}
	if in.Placement == nil || in.Policy == nil {
		return in, nil
	}
	var err error
	in.Snapshot = rollout.At(in.Placement, at.snapshots, in.Index)
	if in.Index != at.Index && in.Snapshot != "" {
		in.Overrides, err = s.overrides(ctx, rollout.Input{Placement: in.Placement, Snapshot: in.Snapshot, Index: in.Index}, at.overrides, at.snapshots)
	}
	return in, err
}

// commit writes what a run's plan says: its requests first, since its status says of them
// what was done.
func (s *Stage) commit(ctx context.Context, r *placementv1.ClusterStagedUpdateRun, plan staged.Plan) (*placementv1.ClusterStagedUpdateRun, error) {
	for _, request := range plan.Delete {
		if err := s.hub.DeleteApprovalRequest(ctx, request); err != nil {
			return r, fmt.Errorf("delete approval request %s: %w", request.Name, err)
		}
	}
	for _, request := range plan.Create {
		if _, err := s.hub.CreateApprovalRequest(ctx, request); err != nil {
			return r, fmt.Errorf("make approval request %s: %w", request.Name, err)
		}
	}
	for _, request := range plan.Accept {
		if _, err := s.hub.CommitApprovalRequestStatus(ctx, request, staged.Accepted(request, s.now())); err != nil {
			return r, fmt.Errorf("accept the approval of %s: %w", request.Name, err)
		}
		approved(r.Name, request)
	}
	written, err := s.hub.CommitUpdateRunStatus(ctx, r, plan.Status)
	if err != nil {
		return r, fmt.Errorf("commit the status of run %s: %w", r.Name, err)
	}
	if written != r {
		measure(r, written)
	}
	return written, nil
}
