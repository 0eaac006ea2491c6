// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// cluster prepares the hub for a cluster that joined, or clears up after one
// that left, and tells the scheduler.
func (s *Stage) cluster(ctx context.Context, e event.Event, name string) ([]event.Event, error) {
	c, err := s.hub.Cluster(ctx, name)
	switch {
	case errors.Is(err, outcome.ErrGone):
		err = errors.Join(s.abandon(ctx, name), s.widow(ctx, name))
	case err == nil && c.DeletionTimestamp == nil:
		for _, f := range propagation.Forms {
			err = errors.Join(err, s.hub.EnsureNamespace(ctx, f.Namespace(name)))
		}
		if err == nil {
			_, err = s.member(ctx, c)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	out := events.From(Name, e)
	if c != nil && c.DeletionTimestamp == nil && meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ConditionReady) == nil {
		// It has just joined, and somebody waits for it.
		version, failure := s.probe(ctx, name)
		if err := s.report(ctx, c, version, failure, out); err != nil {
			return nil, err
		}
	}
	out.Emit(events.ClusterChanged, events.Data{Cluster: name, Reason: "ClusterChanged"})
	return out.Events()
}

// abandon deletes the Works of a cluster that left; what they put there stays.
func (s *Stage) abandon(ctx context.Context, cluster string) error {
	works, err := s.hub.WorksOn(ctx, cluster)
	if err != nil {
		return fmt.Errorf("list Works: %w", err)
	}
	return s.letAll(ctx, cluster, works)
}

// letAll lets the Works of a cluster go that left. Whether it did is asked once
// more: it may have joined since the clusters were listed.
func (s *Stage) letAll(ctx context.Context, cluster string, works []*propagation.Work) error {
	_, err := s.hub.Cluster(ctx, cluster)
	if err == nil {
		return nil
	}
	if !errors.Is(err, outcome.ErrGone) {
		return fmt.Errorf("get cluster %s: %w", cluster, err)
	}
	var failed error
	for _, w := range works {
		if w.Key.Cluster == cluster {
			failed = errors.Join(failed, s.let(ctx, w))
		}
	}
	return failed
}

// let lets a Work go without its objects.
func (s *Stage) let(ctx context.Context, w *propagation.Work) error {
	if err := s.hub.DeleteWork(ctx, w); err != nil {
		return fmt.Errorf("delete %s: %w", w.Key, err)
	}
	w, err := s.hub.Work(ctx, w.Key)
	if errors.Is(err, outcome.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.hub.ReleaseWork(ctx, w); err != nil {
		return fmt.Errorf("release %s: %w", w.Key, err)
	}
	return nil
}

// probeAll brings the Ready condition of every cluster up to date, and tells
// which are ready; failed: of which that could not be said. What was applied to one that
// was away, or to all where the hub was restored, is looked at once: nothing says what
// became of it meanwhile.
func (s *Stage) probeAll(ctx context.Context, restored bool, r *rounds, out *events.Batch) (ready map[string]bool, failed, err error) {
	clusters, err := s.hub.Clusters(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list clusters: %w", err)
	}
	type answer struct {
		version string
		err     error
	}
	answers := make([]answer, len(clusters))
	var wg sync.WaitGroup
	for i, c := range clusters {
		wg.Go(func() {
			version, err := s.probe(ctx, c.Name)
			answers[i] = answer{version, err}
		})
	}
	wg.Wait()
	failed = s.widowed(ctx, clusters)
	ready = map[string]bool{}
	for i, c := range clusters {
		ready[c.Name] = answers[i].err == nil
		if back := ready[c.Name] && conditions.Is(c.Status.Conditions, clusterv1alpha1.ConditionReady, metav1.ConditionFalse); back || restored {
			r.revisit(c.Name)
		}
		failed = errors.Join(failed, s.report(ctx, c, answers[i].version, answers[i].err, out))
	}
	return ready, failed, nil
}

// report says of a cluster what was just seen of it, to policies and to
// placements.
func (s *Stage) report(ctx context.Context, c *clusterv1alpha1.Cluster, version string, failure error, out *events.Batch) error {
	failed := errors.Join(s.readiness(ctx, c, version, failure, out), s.mirrored(ctx, c, version, failure))
	if s.mirror != nil && s.mirror.tell(c.Name) { // decisions name it for as long as it was leaving
		out.Emit(events.ClusterChanged, events.Data{Cluster: c.Name, Reason: "MemberClusterGone"})
	}
	return failed
}

// readiness writes a cluster's condition, if it changed, and announces that.
func (s *Stage) readiness(ctx context.Context, c *clusterv1alpha1.Cluster, version string, failure error, out *events.Batch) error {
	cond := metav1.Condition{Type: clusterv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "ClusterReady", Message: "the cluster answers and can be written to"}
	if failure != nil {
		cond.Status, cond.Reason, cond.Message = metav1.ConditionFalse, "ClusterNotReachable", failure.Error()
	}
	was := conditions.Is(c.Status.Conditions, clusterv1alpha1.ConditionReady, cond.Status)
	if was && failure != nil {
		return nil // the first reason stands until it answers
	}
	list, changed := conditions.Set(c.Status.Conditions, cond, s.now())
	status := *c.Status.DeepCopy()
	status.Conditions = list
	if version != "" && version != status.KubernetesVersion {
		status.KubernetesVersion, changed = version, true
	}
	if !changed {
		return nil
	}
	if err := s.hub.CommitClusterStatus(ctx, c, status); err != nil {
		return fmt.Errorf("commit status of cluster %s: %w", c.Name, err)
	}
	if !was {
		out.Emit(events.ClusterChanged, events.Data{Cluster: c.Name, Reason: cond.Reason, Message: cond.Message})
	}
	return nil
}
