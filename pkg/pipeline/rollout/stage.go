// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rollout"
	"sluice.dev/pkg/outcome"
)

// Name of the stage.
const Name = "rollout"

// Stage is the rollout.
type Stage struct {
	hub Hub
	now func() time.Time

	mu sync.Mutex
	// ticked is when this process handled its last tick. It only saves work: nothing
	// else depends on it.
	ticked time.Time
}

// New makes the stage.
func New(h Hub, now func() time.Time) *Stage { return &Stage{hub: h, now: now} }

// Name returns the name of the stage's function.
func (s *Stage) Name() string { return Name }

// Handle advances the rollout of one placement as far as is allowed now, or finds those
// that are not finished. It is safe to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	switch e.Type() {
	case events.Ping:
		return s.tick(ctx, e)
	case events.ResourceAdded, events.ResourceUpdated, events.ResourceDeleted:
		return s.changed(ctx, e)
	}
	msg, err := events.DecodeFor(e, events.FieldPlacement)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	bindings, err := s.hub.PlacementBindingsOf(ctx, msg.Placement)
	if err != nil {
		return nil, fmt.Errorf("list bindings of %s: %w", msg.Placement, err)
	}
	p, err := s.hub.Placement(ctx, msg.Placement)
	if errors.Is(err, outcome.ErrGone) {
		return s.gone(ctx, e, msg.Placement, bindings)
	}
	if err != nil {
		return meanwhile(e, msg.Placement, bindings, fmt.Errorf("get placement %s: %w", msg.Placement, err))
	}
	out := events.From(Name, e)
	if p.DeletionTimestamp != nil {
		_, unserved := s.follow(ctx, situation{name: p.Name, kind: e.Type(), Input: rollout.Input{Placement: p}})
		if unserved != nil && !errors.Is(unserved, outcome.ErrNotServed) {
			return nil, unserved
		}
		err := s.leave(ctx, p, bindings, out)
		if err != nil && !errors.Is(err, outcome.ErrNotServed) {
			return nil, err
		}
		return despite(errors.Join(unserved, err), out)
	}
	in, known, err := s.load(ctx, p, bindings, e.Type())
	if err != nil || !known {
		return meanwhile(e, p.Name, bindings, err)
	}
	err = s.roll(ctx, in, out, e.Type() == events.PlacementScheduled)
	if err != nil && !outcome.IsPartly(err) {
		return nil, err
	}
	if in.Excess {
		out.Emit(events.PlacementTouched, events.Data{Placement: p.Name, Reason: "HistoryEnds"})
	}
	return despite(err, out)
}

// load reads what a plan depends on; false: no member is picked by the present policy
// yet, and the scheduler will emit an event.
func (s *Stage) load(ctx context.Context, p *placementv1.ClusterResourcePlacement, bindings []*placementv1.ClusterResourceBinding, kind string) (rollout.Input, bool, error) {
	in := rollout.Input{Placement: p, Bindings: bindings, Now: s.now()}
	policies, err := s.hub.PolicySnapshotsOf(ctx, p.Name)
	if err != nil {
		return in, false, fmt.Errorf("list policy snapshots of %s: %w", p.Name, err)
	}
	var known bool
	if in.Policy, in.Picked, known = rollout.Picked(p, policies); !known {
		_, err := s.follow(ctx, situation{name: p.Name, kind: kind, Input: in})
		return in, false, err
	}
	policy := placing.LatestPolicy(p, policies)
	in.PolicyHash = string(policy.Spec.PolicyHash)
	snapshots, err := s.hub.ResourceSnapshotsOf(ctx, p.Name)
	if err != nil {
		return in, false, fmt.Errorf("list snapshots of %s: %w", p.Name, err)
	}
	in.Snapshot, in.Index = rollout.Wanted(p, snapshots)
	in.Excess = placing.Excess(p, snapshots, bindings)
	kept, of, err := s.mended(ctx, p.Name, bindings)
	if err != nil {
		return in, false, err
	}
	in.Made = kept.made()
	if in.Undefined, err = s.undefined(ctx, kept, of, bindings); err != nil {
		return in, false, err
	}
	if in.Overrides, err = s.overrides(ctx, in, kept, snapshots); err != nil {
		return in, false, err
	}
	if p.Spec.Strategy.External() { // otherwise the rollout replaces what is gone
		in.Lacking = kept.lacking(bindings)
	}
	in.Run, err = s.follow(ctx, situation{name: p.Name, kind: kind, Input: in, policy: policy, snapshots: snapshots, overrides: kept})
	return in, err == nil, err
}

// roll executes the plan and emits the events. With all, it also emits events for
// bindings that were written earlier and have not been observed, and for steps that
// were impossible and may be possible now. Where a step fails after others were done, it
// tells of those, and has the placement looked at again.
func (s *Stage) roll(ctx context.Context, in rollout.Input, out *events.Batch, all bool) error {
	plan := rollout.Next(in)
	told := map[string]bool{}
	for _, step := range plan.Steps {
		changed, err := s.carryOut(ctx, step)
		if errors.Is(err, outcome.ErrNotServed) { // the tick finds what is missing
			plan.Reason, plan.Message = placementv1.ReasonRolloutNotStartedYet, "the hub does not serve the bindings of placements, or is about to end that"
			continue
		}
		if err != nil && len(told) > 0 { // what was written is planned no more: it is told now
			out.Emit(events.PlacementScheduled, events.Data{Placement: in.Placement.Name, Reason: "Interrupted"})
			return outcome.Partly(err)
		}
		if err != nil {
			return err
		}
		if changed {
			bound(out, in, step.Cluster())
			told[step.Cluster()] = true
		}
	}
	for _, b := range in.Bindings {
		if all && !told[b.Spec.TargetCluster] && (rollout.Unobserved(b) || rollout.Uncarried(b) || in.Lacking[b.Spec.TargetCluster] || in.Undefined[b.Spec.TargetCluster] != "") {
			bound(out, in, b.Spec.TargetCluster)
		}
	}
	if plan.Reason != "" {
		out.Emit(events.PlacementWaiting, events.Data{Placement: in.Placement.Name, SnapshotIndex: in.Index, Reason: plan.Reason, Message: plan.Message})
	}
	return nil
}

func bound(out *events.Batch, in rollout.Input, cluster string) {
	out.Emit(events.PlacementBound, events.Data{Placement: in.Placement.Name, Cluster: cluster, SnapshotIndex: in.Index})
}

// carryOut executes a step. It changed nothing if the hub's definition of bindings lacks
// what was to be written: that of before an update drops it, each time.
func (s *Stage) carryOut(ctx context.Context, step rollout.Step) (changed bool, err error) {
	if step.Next == nil {
		if err := s.hub.DeletePlacementBinding(ctx, step.Old); err != nil {
			return false, fmt.Errorf("delete binding %s: %w", step.Old.Name, err)
		}
		return true, nil
	}
	written, err := s.hub.CommitPlacementBinding(ctx, step.Old, step.Next)
	if err != nil {
		return false, fmt.Errorf("commit binding %s: %w", step.Next.Name, err)
	}
	return step.Old == nil || written.ResourceVersion != step.Old.ResourceVersion, nil
}

// meanwhile handles an event about a placement of which it is not known what its members
// have to have, because of err or because nobody is picked yet. Bindings that are being
// deleted do not wait for that.
func meanwhile(e event.Event, placement string, bindings []*placementv1.ClusterResourceBinding, err error) ([]event.Event, error) {
	going := going(bindings)
	if err != nil && !errors.Is(err, outcome.ErrNotServed) || len(going) == 0 || e.Type() != events.PlacementScheduled {
		return nil, err
	}
	out := events.From(Name, e)
	for _, b := range going {
		out.Emit(events.PlacementBound, events.Data{Placement: placement, Cluster: b.Spec.TargetCluster, Reason: "Deleting"})
	}
	return despite(err, out)
}

// going returns the bindings that are being deleted.
func going(bindings []*placementv1.ClusterResourceBinding) []*placementv1.ClusterResourceBinding {
	return slices.DeleteFunc(slices.Clone(bindings), func(b *placementv1.ClusterResourceBinding) bool { return b.DeletionTimestamp == nil })
}

// despite returns what was told although not all could be done: that is looked at again.
// The tick announces a placement as long as it, or a binding of it, is being deleted.
func despite(failed error, out *events.Batch) ([]event.Event, error) {
	told, err := out.Events()
	if err != nil {
		return nil, err
	}
	return told, outcome.Partly(failed)
}

// gone handles a placement that does not exist: its runs fail, and bindings that are left
// of it go.
func (s *Stage) gone(ctx context.Context, e event.Event, name string, bindings []*placementv1.ClusterResourceBinding) ([]event.Event, error) {
	running, err := s.running(ctx)
	if err != nil || len(bindings) == 0 && !slices.Contains(running, name) {
		return nil, err
	}
	_, err = s.hub.PlacementNow(ctx, name)
	if err == nil {
		return nil, nil // it was just made: its event follows
	}
	if !errors.Is(err, outcome.ErrGone) {
		return meanwhile(e, name, bindings, fmt.Errorf("get placement %s: %w", name, err))
	}
	_, unserved := s.follow(ctx, situation{name: name, kind: e.Type()})
	if unserved != nil && !errors.Is(unserved, outcome.ErrNotServed) {
		return nil, unserved
	}
	out := events.From(Name, e)
	if err := s.unbind(ctx, name, bindings, out); err != nil {
		return nil, err
	}
	return despite(unserved, out)
}

// unbind deletes the bindings of a placement.
func (s *Stage) unbind(ctx context.Context, placement string, bindings []*placementv1.ClusterResourceBinding, out *events.Batch) error {
	for _, b := range bindings {
		if b.DeletionTimestamp == nil {
			if err := s.hub.DeletePlacementBinding(ctx, b); err != nil {
				return fmt.Errorf("delete binding %s: %w", b.Name, err)
			}
		}
		out.Emit(events.PlacementBound, events.Data{Placement: placement, Cluster: b.Spec.TargetCluster, Reason: "Deleting"})
	}
	return nil
}

// leave deletes the bindings of a placement that is being deleted, and removes its
// finalizer when they are gone, and no Work is left: one has no binding any more where a
// member was to be left, and to be kept after all, when the placement was deleted. Without
// the placement nothing would prove that its objects are to go.
func (s *Stage) leave(ctx context.Context, p *placementv1.ClusterResourcePlacement, bindings []*placementv1.ClusterResourceBinding, out *events.Batch) error {
	if err := s.unbind(ctx, p.Name, bindings, out); err != nil {
		return err
	}
	if len(bindings) > 0 || !slices.Contains(p.Finalizers, placementv1.FinalizerScheduler) {
		return nil
	}
	works, err := s.hub.WorksOfPlacement(ctx, p.Name)
	if err = outcome.UnlessGone(ctx, err, s.hub.PlacementWorksUndefined); err != nil {
		return fmt.Errorf("list the Works of placement %s: %w", p.Name, err)
	}
	if works = slices.DeleteFunc(works, (*propagation.Work).LetGo); len(works) > 0 {
		for _, w := range works {
			out.EmitOnce(events.PlacementBound, events.Data{Placement: p.Name, Cluster: w.Key.Cluster, Reason: "Unplaced"})
		}
		return nil
	}
	next := p.DeepCopy()
	next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool { return f == placementv1.FinalizerScheduler })
	if _, err := s.hub.CommitPlacement(ctx, p, next); err != nil && !errors.Is(err, outcome.ErrGone) {
		return fmt.Errorf("let placement %s go: %w", p.Name, err)
	}
	return nil
}

// tick emits placement.scheduled for each placement for which time alone changed
// something, or an event was missed. It reads the bindings of all placements: a missed
// event shows in them and not in the placement's status, and for a list of the bindings of
// one placement the API server looks through all of them, too.
func (s *Stage) tick(ctx context.Context, e event.Event) ([]event.Event, error) {
	all, unserved := s.hub.Placements(ctx)
	if unserved != nil && !errors.Is(unserved, outcome.ErrNotServed) {
		return nil, fmt.Errorf("list placements: %w", unserved)
	}
	running, err := s.running(ctx)
	if err != nil {
		return nil, err
	}
	bindings, err := s.hub.PlacementBindings(ctx)
	if err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	if unserved != nil { // of the others nobody can tell
		bindings = going(bindings)
	}
	now := s.now()
	open := rollout.Open(all, bindings, s.swapTicked(now), now)
	out := events.From(Name, e)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(open, running...)))) {
		out.Emit(events.PlacementScheduled, events.Data{Placement: name, Reason: "Due"})
	}
	return out.Events()
}

// swapTicked returns when the previous tick was; zero: this process had none.
func (s *Stage) swapTicked(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.ticked
	s.ticked = now
	return last
}
