// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/mirroring"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// Members are the clusters as placements see them.
type Members interface {
	Member(ctx context.Context, name string) (*memberclusterv1.MemberCluster, error)
	Members(ctx context.Context) ([]*memberclusterv1.MemberCluster, error)
	CommitMember(ctx context.Context, old, next *memberclusterv1.MemberCluster) (*memberclusterv1.MemberCluster, error)
	CommitMemberStatus(ctx context.Context, m *memberclusterv1.MemberCluster, status memberclusterv1.MemberClusterStatus) (*memberclusterv1.MemberCluster, error)
	DeleteMember(ctx context.Context, m *memberclusterv1.MemberCluster) error
	// MembersRetired tells whether they are all going, with their kind.
	MembersRetired(ctx context.Context) (bool, error)
	AnnotateCluster(ctx context.Context, c *clusterv1alpha1.Cluster, key, value string) (*clusterv1alpha1.Cluster, error)
	PlacementBindings(ctx context.Context) ([]*placementv1.ClusterResourceBinding, error)
	CommitWork(ctx context.Context, old, next *propagation.Work) (*propagation.Work, error)
}

// Usage asks a member for its nodes and what is free on them.
type Usage func(ctx context.Context, cluster string) (*mirroring.Usage, error)

// usagePause is how often a member's nodes are looked at.
const usagePause = time.Minute

// mirror keeps a MemberCluster for each Cluster. A nil mirror keeps none.
type mirror struct {
	members Members
	usage   Usage

	mu   sync.Mutex
	seen map[string]sight
	// gone are the members that left since that was told.
	gone map[string]bool
}

// left notes that a member has left.
func (m *mirror) left(cluster string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone[cluster] = true
}

// tell tells whether a member left, once.
func (m *mirror) tell(cluster string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	gone := m.gone[cluster]
	delete(m.gone, cluster)
	return gone
}

// sight is when a member was last well, and what its nodes were then.
type sight struct {
	well, looked time.Time
	usage        *mirroring.Usage
}

// Mirroring makes the stage keep a MemberCluster for each Cluster.
func (s *Stage) Mirroring(m Members, u Usage) *Stage {
	probe := s.probe
	s.mirror = &mirror{members: m, usage: u, seen: map[string]sight{}, gone: map[string]bool{}}
	s.probe = func(ctx context.Context, cluster string) (string, error) {
		version, err := probe(ctx, cluster)
		if err == nil {
			s.look(ctx, cluster)
		}
		return version, err
	}
	return s
}

// look asks a member that is well for its nodes, now and then.
func (s *Stage) look(ctx context.Context, cluster string) {
	m, now := s.mirror, s.now()
	m.mu.Lock()
	v := m.seen[cluster]
	v.well = now
	due := now.Sub(v.looked) >= usagePause
	if due {
		v.looked = now
	}
	m.seen[cluster] = v
	m.mu.Unlock()
	if !due {
		return
	}
	u, err := m.usage(ctx, cluster)
	if err != nil || u == nil {
		return // what was known of them stands
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	v = m.seen[cluster]
	v.usage = u
	m.seen[cluster] = v
}

// mirrored brings the MemberCluster up to date with its Cluster, and with what was
// just seen of the member.
func (s *Stage) mirrored(ctx context.Context, c *clusterv1alpha1.Cluster, version string, failure error) error {
	m, err := s.member(ctx, c)
	if m == nil || err != nil {
		return err
	}
	s.mirror.mu.Lock()
	v := s.mirror.seen[c.Name]
	s.mirror.mu.Unlock()
	o := mirroring.Observation{Version: version, Usage: v.usage, Seen: v.well}
	if failure != nil {
		o.Failure = failure.Error()
	}
	status, changed := mirroring.Status(m.Status, m.Generation, o, s.now())
	if !changed {
		return nil
	}
	if _, err := s.mirror.members.CommitMemberStatus(ctx, m, status); err != nil {
		return fmt.Errorf("commit status of MemberCluster %s: %w", c.Name, err)
	}
	return nil
}

// member is the MemberCluster of a Cluster, made or brought up to date; nil where
// it has none, or is leaving.
func (s *Stage) member(ctx context.Context, c *clusterv1alpha1.Cluster) (*memberclusterv1.MemberCluster, error) {
	if s.mirror == nil || c.DeletionTimestamp != nil {
		return nil, nil
	}
	m, err := s.mirror.members.Member(ctx, c.Name)
	switch {
	case errors.Is(err, outcome.ErrNotServed):
		return nil, nil // an older hub
	case errors.Is(err, outcome.ErrGone):
		m = nil
	case err != nil:
		return nil, fmt.Errorf("get MemberCluster %s: %w", c.Name, err)
	}
	_, left := c.Annotations[mirroring.AnnotationLeft]
	switch {
	case m == nil && left:
		return nil, nil
	case m == nil:
		if err := s.hub.EnsureNamespace(ctx, propagation.PlacementForm.Namespace(c.Name)); err != nil {
			return nil, err
		}
	case m.DeletionTimestamp != nil:
		return nil, s.leave(ctx, c, m)
	case left: // somebody made it again
		if _, err := s.mirror.members.AnnotateCluster(ctx, c, mirroring.AnnotationLeft, ""); err != nil {
			return nil, fmt.Errorf("let %s take part in placements again: %w", c.Name, err)
		}
	}
	next, err := s.mirror.members.CommitMember(ctx, m, mirroring.Member(c, m))
	if errors.Is(err, outcome.ErrNotServed) {
		return nil, nil // its kind is on its way out
	}
	if err != nil {
		return nil, fmt.Errorf("commit MemberCluster %s: %w", c.Name, err)
	}
	if m == nil {
		joins.WithLabelValues("true").Inc()
	}
	return next, nil
}

// leave lets a member go that somebody deleted, or whose Cluster (c is nil then)
// is gone. What placements put there stays there.
func (s *Stage) leave(ctx context.Context, c *clusterv1alpha1.Cluster, m *memberclusterv1.MemberCluster) error {
	if err := s.note(ctx, c, m); err != nil {
		return err
	}
	works, err := s.hub.WorksOn(ctx, m.Name)
	if err != nil {
		return fmt.Errorf("list Works: %w", err)
	}
	for _, w := range works {
		if w.Key.Form != propagation.PlacementForm {
			continue
		}
		kept := *w
		kept.Spec.PreserveResourcesOnDeletion = new(true)
		if w, err = s.mirror.members.CommitWork(ctx, w, &kept); err != nil {
			return fmt.Errorf("keep the objects of %s: %w", kept.Key, err)
		}
		if err := s.let(ctx, w); err != nil {
			return err
		}
	}
	bindings, err := s.mirror.members.PlacementBindings(ctx)
	if err != nil {
		return fmt.Errorf("list the bindings of placements: %w", err)
	}
	if slices.ContainsFunc(bindings, func(b *placementv1.ClusterResourceBinding) bool { return b.Spec.TargetCluster == m.Name }) {
		return nil // the scheduler takes them away, and this is asked again
	}
	next := m.DeepCopy()
	next.Finalizers = slices.DeleteFunc(next.Finalizers, func(f string) bool { return f == memberclusterv1.Finalizer })
	if _, err := s.mirror.members.CommitMember(ctx, m, next); err != nil && !errors.Is(err, outcome.ErrGone) {
		return fmt.Errorf("let MemberCluster %s go: %w", m.Name, err)
	}
	leaves.WithLabelValues("true").Inc()
	s.mirror.left(m.Name)
	return nil
}

// note has the Cluster say that it takes part in placements no more, unless nobody asked
// for that: what goes with its kind is made again with its kind.
func (s *Stage) note(ctx context.Context, c *clusterv1alpha1.Cluster, m *memberclusterv1.MemberCluster) error {
	if _, left := leftOf(c); c == nil || left {
		return nil
	}
	retired, err := s.mirror.members.MembersRetired(ctx)
	if err != nil || retired {
		return err
	}
	if _, err := s.mirror.members.AnnotateCluster(ctx, c, mirroring.AnnotationLeft, m.DeletionTimestamp.UTC().Format(time.RFC3339)); err != nil {
		return fmt.Errorf("note that %s leaves the placements: %w", m.Name, err)
	}
	return nil
}

func leftOf(c *clusterv1alpha1.Cluster) (since string, left bool) {
	if c == nil {
		return "", false
	}
	since, left = c.Annotations[mirroring.AnnotationLeft]
	return since, left
}

// widowed lets the MemberClusters go that were made for Clusters which are gone.
func (s *Stage) widowed(ctx context.Context, clusters []*clusterv1alpha1.Cluster) error {
	if s.mirror == nil {
		return nil
	}
	members, err := s.mirror.members.Members(ctx)
	if errors.Is(err, outcome.ErrNotServed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list MemberClusters: %w", err)
	}
	var failed error
	for _, m := range members {
		if !slices.ContainsFunc(clusters, func(c *clusterv1alpha1.Cluster) bool { return c.Name == m.Name }) {
			failed = errors.Join(failed, s.widow(ctx, m.Name))
		}
	}
	return failed
}

// widow lets the MemberCluster of a Cluster go that is gone. One that nobody made
// for a Cluster is somebody else's.
func (s *Stage) widow(ctx context.Context, name string) error {
	if s.mirror == nil {
		return nil
	}
	if _, err := s.hub.Cluster(ctx, name); !errors.Is(err, outcome.ErrGone) {
		return err
	}
	m, err := s.mirror.members.Member(ctx, name)
	if errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get MemberCluster %s: %w", name, err)
	}
	if !slices.Contains(m.Finalizers, memberclusterv1.Finalizer) {
		return nil
	}
	if m.DeletionTimestamp == nil {
		if err := s.mirror.members.DeleteMember(ctx, m); err != nil {
			return fmt.Errorf("delete MemberCluster %s: %w", name, err)
		}
		if m, err = s.mirror.members.Member(ctx, name); err != nil {
			if errors.Is(err, outcome.ErrGone) {
				return nil
			}
			return err
		}
	}
	return s.leave(ctx, nil, m)
}

// relabelled is a MemberCluster that somebody wrote or deleted.
func (s *Stage) relabelled(ctx context.Context, e event.Event, name string) ([]event.Event, error) {
	c, err := s.hub.Cluster(ctx, name)
	switch {
	case errors.Is(err, outcome.ErrGone):
		err = s.widow(ctx, name)
	case err == nil:
		_, err = s.member(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	out := events.From(Name, e)
	out.Emit(events.ClusterChanged, events.Data{Cluster: name, Reason: "MemberClusterChanged"})
	return out.Events()
}
