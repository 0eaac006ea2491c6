// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// placement updates the status of a placement, and of its binding to the member that
// the event is about, from decisions, bindings and Works. A state that is about to
// change is written when it is reached. That a rollout waits, and that the status is
// about an earlier generation of the placement, is written at once.
func (s *Stage) placement(ctx context.Context, e event.Event, msg events.Data) ([]event.Event, error) {
	in, err := s.input(ctx, msg.Placement)
	if errors.Is(err, outcome.ErrGone) || err == nil && in.Placement.DeletionTimestamp != nil {
		forget(msg.Placement)
		return nil, nil
	}
	if err == nil && placing.Refused(in.Placement) {
		return nil, nil // its status is the placer's
	}
	if err != nil {
		return nil, err
	}
	sum := telling.Summarize(in)
	for cluster, b := range sum.Members {
		if msg.Cluster != "" && cluster != msg.Cluster {
			continue
		}
		if _, err := s.hub.CommitPlacementBindingStatus(ctx, b.Binding, b.Status); err != nil {
			return nil, fmt.Errorf("commit status of the binding %s: %w", b.Binding.Name, err)
		}
	}
	leaving := in.Leaving(msg.Cluster)
	for _, b := range leaving {
		if _, err := s.hub.CommitPlacementBindingStatus(ctx, b.Binding, b.Status); err != nil && !errors.Is(err, outcome.ErrGone) {
			return nil, fmt.Errorf("commit status of the binding %s: %w", b.Binding.Name, err)
		}
	}
	if !sum.Moving || e.Type() == events.PlacementWaiting || telling.Outdated(in.Placement) {
		if err := s.tellPlacement(ctx, in.Placement, sum.Status, telling.Besides(in)); err != nil {
			return nil, err
		}
	}
	out := events.From(Name, e)
	if _, concluded := sum.Members[msg.Cluster]; concluded || len(leaving) > 0 || e.Type() == events.WorkDeleted {
		out.Emit(events.PlacementReported, events.Data{Placement: msg.Placement, Cluster: msg.Cluster, SnapshotIndex: sum.Status.ObservedResourceIndex, Reason: reasonOf(sum)})
	}
	return out.Events()
}

// input reads what the placement's status depends on.
func (s *Stage) input(ctx context.Context, name string) (in telling.Input, err error) {
	in.Now = s.now()
	if in.Placement, err = s.hub.Placement(ctx, name); err != nil {
		return in, fmt.Errorf("get placement %s: %w", name, err)
	}
	if in.Policies, err = s.hub.PolicySnapshotsOf(ctx, name); err != nil {
		return in, fmt.Errorf("list the policies of placement %s: %w", name, err)
	}
	if in.Snapshots, err = s.hub.ResourceSnapshotsOf(ctx, name); err != nil {
		return in, fmt.Errorf("list the snapshots of placement %s: %w", name, err)
	}
	if in.Bindings, err = s.hub.PlacementBindingsOf(ctx, name); err != nil {
		return in, fmt.Errorf("list the bindings of placement %s: %w", name, err)
	}
	if in.Works, err = s.hub.WorksOfPlacement(ctx, name); err != nil {
		return in, fmt.Errorf("list the Works of placement %s: %w", name, err)
	}
	if telling.Stale(in) {
		in.Selected, err = s.selected(ctx, in)
	}
	return in, err
}

// selected returns the objects in the snapshot that members should have; nil: not known
// yet.
func (s *Stage) selected(ctx context.Context, in telling.Input) ([]placementv1.ResourceIdentifier, error) {
	out := []placementv1.ResourceIdentifier{} // not nil: an empty snapshot is known to be empty
	for _, name := range telling.Parts(in.Placement, in.Snapshots) {
		part, err := s.hub.ResourceSnapshot(ctx, name)
		if errors.Is(err, outcome.ErrGone) {
			return nil, nil // another one replaces it
		}
		if err != nil {
			return nil, fmt.Errorf("get the snapshot %s: %w", name, err)
		}
		for _, r := range part.Spec.SelectedResources {
			var obj map[string]any
			if err := utiljson.Unmarshal(r.Raw, &obj); err != nil {
				continue // the renderer reports that
			}
			id := telling.Identify(0, obj)
			out = append(out, placementv1.ResourceIdentifier{Group: id.Group, Version: id.Version, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name})
		}
	}
	return out, nil
}

// tellPlacement writes the status, with the conditions in besides, and records the
// events for conditions that became True.
func (s *Stage) tellPlacement(ctx context.Context, p *placementv1.ClusterResourcePlacement, status placementv1.ClusterResourcePlacementStatus, besides []metav1.Condition) error {
	stages := status.Conditions
	status.Conditions = slices.Concat(stages, besides)
	if _, err := s.hub.CommitPlacementStatus(ctx, p, status); err != nil {
		return fmt.Errorf("commit status of placement %s: %w", p.Name, err)
	}
	measure(p, stages)
	for _, e := range telling.Events(p.Status.Conditions, stages) {
		s.hub.RecordOnce(ctx, hub.AboutPlacement(p), e.Occasion, hub.Normal, e.Reason, e.Message)
	}
	return nil
}

// reasonOf returns the reason of the placement's last condition.
func reasonOf(s telling.Summary) string {
	if n := len(s.Status.Conditions); n > 0 {
		return s.Status.Conditions[n-1].Reason
	}
	return ""
}

// placed emits work.rendered for the placements' Works in the member that have the
// object, so that the applier checks it: it is not, or may not be, what was applied.
func (s *Stage) placed(ctx context.Context, e event.Event, o events.Object) ([]event.Event, error) {
	works, err := s.hub.PlacementWorksOn(ctx, o.Cluster)
	if err != nil {
		return nil, fmt.Errorf("list the Works of placements in %s: %w", o.Cluster, err)
	}
	out := events.From(Name, e)
	for _, w := range works {
		if !telling.Has(w, o.TemplateKey) {
			continue
		}
		template, what := propagation.PlacementKey(w.Placement()), events.WorkRendered
		if w.Deleting {
			what = events.WorkRemoved
		}
		out.Emit(what, events.Data{
			Template: &template, Placement: w.Placement(), Work: &w.Key, WorkVersion: w.ResourceVersion, Cluster: o.Cluster, Reason: "ObjectChanged",
		})
	}
	return out.Events()
}
