// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/budget"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/paging"
)

// Name of the stage.
const Name = "scheduler"

// Stage is the scheduler.
type Stage struct {
	bindings   Bindings
	clusters   Clusters
	placements Placements
	gates      Gates
	now        func() time.Time
}

// New makes the stage.
func New(b Bindings, c Clusters, p Placements, g Gates, now func() time.Time) *Stage {
	return &Stage{bindings: b, clusters: c, placements: p, gates: g, now: now}
}

// Name returns the name of the stage's function.
func (s *Stage) Name() string { return Name }

// Handle schedules one binding or placement, finds those that a changed cluster concerns,
// or decides an eviction. It is safe to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	switch e.Type() {
	case events.ResourceAdded, events.ResourceUpdated, events.ResourceDeleted:
		return s.asked(ctx, e)
	}
	msg, err := events.Decode(e)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	switch e.Type() {
	case events.ClusterChanged:
		return s.clusterChanged(ctx, e, msg)
	case events.PlacementSnapshotted:
		return s.place(ctx, e, msg.Placement)
	}
	if err := msg.Has(events.FieldBinding); err != nil {
		return nil, outcome.Terminal(err)
	}
	b, err := s.bindings.Binding(ctx, *msg.Binding)
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", msg.Binding, err)
	}
	if b.ForeignScheduler() != "" {
		return nil, nil // the event is late: another scheduler decides now
	}
	next, d, err := s.decide(ctx, b)
	if err != nil {
		return nil, err
	}
	if b, err = s.commit(ctx, b, next, d); err != nil {
		return nil, err
	}
	out := events.From(Name, e)
	key := b.Template()
	out.Emit(events.BindingScheduled, events.Data{
		Template: &key, Binding: &b.Key, BindingVersion: b.ResourceVersion, Reason: d.Condition.Reason, Message: d.Condition.Message,
	})
	return out.Events()
}

// decide returns where the template goes, within the budget of removals, and the
// binding with that. A binding that cannot be scheduled keeps its clusters.
func (s *Stage) decide(ctx context.Context, b *propagation.Binding) (*propagation.Binding, scheduling.Decision, error) {
	if b.Spec.Placement == nil {
		return b, scheduling.Decision{Targets: b.Spec.Clusters, Condition: metav1.Condition{Reason: "FollowsDependents"}}, nil
	}
	fleet, err := s.clusters.Clusters(ctx)
	if err != nil {
		return nil, scheduling.Decision{}, fmt.Errorf("list clusters: %w", err)
	}
	draft, features := budget.Of(b, fleet), propagation.Features{}
	if len(b.Spec.Clusters) == 0 {
		works, err := s.bindings.WorksOf(ctx, b.Key)
		if err != nil {
			return nil, scheduling.Decision{}, fmt.Errorf("list the Works of %s: %w", b.Key, err)
		}
		draft = budget.Remade(b, works, fleet)
	}
	if len(draft.Lost()) > 0 {
		if features, err = s.gates.Features(ctx); err != nil {
			return nil, scheduling.Decision{}, fmt.Errorf("get gates: %w", err)
		}
	}
	next, d := draft.Schedule(features.Budget, s.now())
	return next, d, nil
}

// commit writes the clusters and the removals that are held, and the condition if it is
// or was not True.
func (s *Stage) commit(ctx context.Context, b, next *propagation.Binding, d scheduling.Decision) (*propagation.Binding, error) {
	if next != b {
		moved := !equality.Semantic.DeepEqual(b.Spec.Clusters, next.Spec.Clusters)
		var err error
		if b, err = s.bindings.CommitBinding(ctx, b, next); err != nil {
			return nil, fmt.Errorf("commit %s: %w", next.Key, err)
		}
		if moved && !d.Unschedulable {
			s.bindings.Mention(ctx, hub.AboutBinding(b), workv1alpha2.EventReasonScheduleBindingSucceed, d.Condition.Message)
		}
	}
	if d.Condition.Type == "" || d.Condition.Message == scheduling.MessageSuccess && !conditions.Has(b.Status.Conditions, workv1alpha2.ConditionScheduled) {
		return b, nil
	}
	list, changed := conditions.Set(b.Status.Conditions, d.Condition, s.now())
	if !changed {
		return b, nil
	}
	status := b.Status
	status.Conditions = list
	told, err := s.bindings.CommitBindingStatus(ctx, b, status)
	if err != nil {
		return nil, fmt.Errorf("commit status of %s: %w", b.Key, err)
	}
	if d.Unschedulable {
		s.bindings.Record(ctx, hub.AboutBinding(b), hub.Warning, workv1alpha2.EventReasonScheduleBindingFailed, d.Condition.Reason+": "+d.Condition.Message)
	}
	return told, nil
}

// clusterChanged announces the bindings that would be scheduled differently now, and
// the placements that the cluster may concern, page by page.
func (s *Stage) clusterChanged(ctx context.Context, e event.Event, msg events.Data) ([]event.Event, error) {
	out := events.From(Name, e)
	if after, further := strings.CutPrefix(msg.Continue, placed); further || msg.Continue == "" {
		if err := s.clusterChangedFor(ctx, out, msg.Cluster, after); err != nil {
			return nil, err
		}
		if further {
			return out.Events()
		}
	}
	fleet, err := s.clusters.Clusters(ctx)
	if err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	all := func(ctx context.Context, limit int64, cont string) ([]*propagation.Binding, string, error) {
		return s.bindings.ListBindings(ctx, "", limit, cont)
	}
	next, err := paging.Through(ctx, all, msg.Continue, func(b *propagation.Binding) bool {
		if !s.concerned(b, fleet) {
			return false
		}
		key := b.Template()
		out.Emit(events.BindingActivated, events.Data{
			Template: &key, Binding: &b.Key, BindingVersion: b.ResourceVersion, Reason: "ClusterChanged", Message: "cluster " + msg.Cluster + " changed",
		})
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	if next != "" {
		out.Emit(events.ClusterChanged, events.Data{Cluster: msg.Cluster, Continue: next, Reason: "MoreBindings"})
	}
	return out.Events()
}

// concerned reports whether the binding would be scheduled differently on these
// clusters.
func (s *Stage) concerned(b *propagation.Binding, fleet []*clusterv1alpha1.Cluster) bool {
	if b.Spec.Placement == nil || b.ForeignScheduler() != "" {
		return false
	}
	next, d := budget.Of(b, fleet).Schedule(propagation.BudgetIndirect, s.now())
	if next != b {
		return true
	}
	_, differs := conditions.Set(b.Status.Conditions, d.Condition, s.now())
	return differs && conditions.Has(b.Status.Conditions, workv1alpha2.ConditionScheduled)
}
