// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package removals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/budget"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// Hub is the control plane's API.
type Hub interface {
	Cluster(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error)
	Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error)
	CommitClusterStatus(ctx context.Context, c *clusterv1alpha1.Cluster, status clusterv1alpha1.ClusterStatus) error
	CommitBinding(ctx context.Context, old, next *propagation.Binding) (*propagation.Binding, error)
	Features(ctx context.Context) (propagation.Features, error)
	Record(ctx context.Context, about hub.About, eventType, reason, message string)
	// RemovingBindings returns the bindings whose label says that a removal is held.
	RemovingBindings(ctx context.Context) ([]*propagation.Binding, error)
}

// Judge decides about removals. It has no state of its own.
type Judge struct {
	hub Hub
	now func() time.Time
}

// New returns a Judge.
func New(h Hub, now func() time.Time) *Judge { return &Judge{hub: h, now: now} }

// Sweep decides about the removals that nobody asked for: within a member's budget they
// are allowed; if they exceed it, all are held, and the Cluster says so. It emits
// events for the scheduler where a removal is allowed, and returns which removals of
// each policy's templates are held.
func (j *Judge) Sweep(ctx context.Context, p *page.Page, list func() ([]*propagation.Work, error), out *events.Batch) (map[propagation.Claim]string, error) {
	clusters, err := j.hub.Clusters(ctx)
	if err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	w := budget.World{Clusters: clusters, Bindings: p.Bindings, Now: j.now().UTC()}
	if !p.Whole {
		labelled, err := j.hub.RemovingBindings(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the bindings of which something is held: %w", err)
		}
		w.Bindings = slices.Concat(p.Bindings, labelled)
	}
	if w.Quiet() {
		return nil, nil
	}
	if w.Bindings, err = p.All(); err != nil {
		return nil, fmt.Errorf("list bindings: %w", err)
	}
	features, err := j.hub.Features(ctx)
	if err != nil {
		return nil, fmt.Errorf("get gates: %w", err)
	}
	works, err := list()
	if err != nil {
		return nil, fmt.Errorf("list Works: %w", err)
	}
	w.Mode = features.Budget
	held := map[propagation.Claim][]string{}
	var failed error
	for _, m := range w.Members(works) {
		over, unsure := m.Over(w.Mode), m.Unsure(w.Mode)
		if over {
			count := map[propagation.Claim]int{}
			for _, b := range m.Held {
				count[b.Claim()]++
			}
			for claim, n := range count {
				held[claim] = append(held[claim], fmt.Sprintf("%d in %s", n, m.Cluster))
			}
		} else if !unsure {
			failed = errors.Join(failed, j.letGo(ctx, m, w, out))
		}
		for _, b := range m.Going[:min(len(m.Going), tick.Batch)] {
			schedule(out, b)
		}
		if over || !unsure {
			failed = errors.Join(failed, j.tellHeld(ctx, m.Cluster, m.Condition(w.Mode)))
		}
	}
	told := make(map[propagation.Claim]string, len(held))
	for claim, members := range held {
		told[claim] = "templates that would leave members though nobody asked for that by name are held: " + strings.Join(slices.Sorted(slices.Values(members)), ", ") +
			"; 'kubectl sluice get removals' lists them, 'kubectl sluice approve CLUSTER' lets them go"
	}
	return told, failed
}

// letGo allows the removals that are held for a member, and emits events for the
// scheduler.
func (j *Judge) letGo(ctx context.Context, m budget.Member, w budget.World, out *events.Batch) error {
	var failed error
	for _, b := range m.Held[:min(len(m.Held), tick.Batch)] {
		removals := b.Removals()
		r := removals[m.Cluster]
		r.Let = w.Now
		removals[m.Cluster] = r
		next, err := j.hub.CommitBinding(ctx, b, b.WithRemovals(removals))
		switch {
		case outcome.IsConflict(err), errors.Is(err, outcome.ErrGone): // somebody wrote it meanwhile: the next sweep tries again
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("commit %s: %w", b.Key, err))
		default:
			schedule(out, next)
		}
	}
	return failed
}

func schedule(out *events.Batch, b *propagation.Binding) {
	template := b.Template()
	out.Emit(events.BindingActivated, events.Data{Template: &template, Binding: &b.Key, BindingVersion: b.ResourceVersion, Reason: "RemovalLetGo"})
}

// tellHeld writes to a Cluster whether removals are held. It writes nothing if none
// ever was.
func (j *Judge) tellHeld(ctx context.Context, name string, cond metav1.Condition) error {
	c, err := j.hub.Cluster(ctx, name)
	if errors.Is(err, outcome.ErrGone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get cluster %s: %w", name, err)
	}
	was := conditions.Is(c.Status.Conditions, clusterv1alpha1.ConditionRemovalHeld, cond.Status)
	if cond.Status == metav1.ConditionFalse && !conditions.Has(c.Status.Conditions, cond.Type) {
		return nil
	}
	list, changed := conditions.Set(c.Status.Conditions, cond, j.now())
	if !changed {
		return nil
	}
	status := *c.Status.DeepCopy()
	status.Conditions = list
	err = j.hub.CommitClusterStatus(ctx, c, status)
	if outcome.IsConflict(err) || errors.Is(err, outcome.ErrGone) {
		return nil // the next sweep writes it
	}
	if err != nil {
		return fmt.Errorf("commit status of cluster %s: %w", name, err)
	}
	if !was && cond.Status == metav1.ConditionTrue {
		j.hub.Record(ctx, hub.AboutCluster(c), hub.Warning, cond.Type, cond.Message)
	}
	return nil
}
