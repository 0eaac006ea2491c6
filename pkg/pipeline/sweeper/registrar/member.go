// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package registrar

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/mirroring"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// Members reads and writes the clusters as placements see them.
type Members interface {
	Member(ctx context.Context, name string) (*memberclusterv1.MemberCluster, error)
	Members(ctx context.Context) ([]*memberclusterv1.MemberCluster, error)
	CommitMember(ctx context.Context, old, next *memberclusterv1.MemberCluster) (*memberclusterv1.MemberCluster, error)
	CommitMemberStatus(ctx context.Context, m *memberclusterv1.MemberCluster, status memberclusterv1.MemberClusterStatus) (*memberclusterv1.MemberCluster, error)
	DeleteMemberAt(ctx context.Context, m *memberclusterv1.MemberCluster) error
	// MembersRetired reports whether the kind MemberCluster is being removed, and all
	// of them with it.
	MembersRetired(ctx context.Context) (bool, error)
	AnnotateCluster(ctx context.Context, c *clusterv1alpha1.Cluster, key, value string) (*clusterv1alpha1.Cluster, error)
	PlacementBindings(ctx context.Context) ([]*placementv1.ClusterResourceBinding, error)
	PlacementWorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error)
	Placement(ctx context.Context, name string) (*placementv1.ClusterResourcePlacement, error)
	CommitWork(ctx context.Context, old, next *propagation.Work) (*propagation.Work, error)
}

// Usage returns a member's nodes and their free resources.
type Usage func(ctx context.Context, cluster string) (*mirroring.Usage, error)

// usagePause is how often a member's nodes are read.
const usagePause = time.Minute

// Mirroring makes the Registrar keep a MemberCluster for each Cluster.
func (r *Registrar) Mirroring(m Members, u Usage) *Registrar {
	r.members, r.usage = m, u
	return r
}

// looks reports whether a member's nodes have to be read, given when all members were
// last asked. Each member has its own moment, so that they are spread over time.
func looks(cluster string, last, now time.Time) bool {
	sum := fnv.New64a()
	_, _ = io.WriteString(sum, cluster)
	own := time.Duration(sum.Sum64() % uint64(usagePause)) //nolint:gosec // less than a minute
	return last.IsZero() || now.Add(own).Truncate(usagePause).After(last.Add(own).Truncate(usagePause))
}

// mirrored updates the MemberCluster from its Cluster, and from what was just read of
// the member. It reports whether placements may be decided differently because of that:
// the member has left them or takes part from now on, or it became healthy or
// unhealthy.
func (r *Registrar) mirrored(ctx context.Context, c *clusterv1alpha1.Cluster, a answer) (moved bool, err error) {
	m, moved, err := r.member(ctx, c)
	if m == nil || err != nil {
		return moved, err
	}
	o := mirroring.Observation{Version: a.version, Usage: a.usage}
	healthy := conditions.Is(m.Status.Conditions, memberclusterv1.ConditionHealthy, metav1.ConditionTrue)
	if a.failure != nil {
		o.Failure = a.failure.Error()
		if healthy {
			o.Seen = a.last
		}
	}
	status, changed := mirroring.Status(m.Status, m.Generation, o, r.now())
	if !changed {
		return moved, nil
	}
	if _, err := r.members.CommitMemberStatus(ctx, m, status); err != nil {
		return moved, fmt.Errorf("commit status of MemberCluster %s: %w", c.Name, err)
	}
	return moved || healthy != conditions.Is(status.Conditions, memberclusterv1.ConditionHealthy, metav1.ConditionTrue), nil
}

// member returns the MemberCluster of a Cluster, created or updated; nil if it has
// none, or is leaving. moved: because of this call it has left the placements, or takes
// part.
func (r *Registrar) member(ctx context.Context, c *clusterv1alpha1.Cluster) (_ *memberclusterv1.MemberCluster, moved bool, err error) {
	if r.members == nil || c.DeletionTimestamp != nil {
		return nil, false, nil
	}
	m, err := r.members.Member(ctx, c.Name)
	switch {
	case errors.Is(err, outcome.ErrNotServed):
		return nil, false, nil // an older hub
	case errors.Is(err, outcome.ErrGone):
		m = nil
	case err != nil:
		return nil, false, fmt.Errorf("get MemberCluster %s: %w", c.Name, err)
	}
	_, left := mirroring.Left(c)
	switch {
	case m == nil && left:
		return nil, false, nil
	case m == nil:
		if there, err := r.there(ctx, c); !there || err != nil {
			return nil, false, err
		}
		if err := r.hub.EnsureNamespace(ctx, propagation.PlacementForm.Namespace(c.Name)); err != nil {
			return nil, false, err
		}
	case m.DeletionTimestamp != nil:
		gone, err := r.leave(ctx, c, m)
		return nil, gone, err
	case left: // somebody created it again
		if _, err := r.members.AnnotateCluster(ctx, c, mirroring.AnnotationLeft, ""); err != nil {
			return nil, false, fmt.Errorf("let %s take part in placements again: %w", c.Name, err)
		}
	}
	next, err := r.members.CommitMember(ctx, m, mirroring.Member(c, m))
	if errors.Is(err, outcome.ErrNotServed) {
		return nil, false, nil // its kind is being removed
	}
	if err != nil {
		return nil, false, fmt.Errorf("commit MemberCluster %s: %w", c.Name, err)
	}
	if m == nil {
		joins.WithLabelValues("true").Inc()
	}
	return next, m == nil, nil
}

// there reports whether the Cluster still exists; it may have been read a while ago. A
// MemberCluster that is created after that would belong to nobody.
func (r *Registrar) there(ctx context.Context, c *clusterv1alpha1.Cluster) (bool, error) {
	now, err := r.hub.Cluster(ctx, c.Name)
	if errors.Is(err, outcome.ErrGone) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get cluster %s: %w", c.Name, err)
	}
	return now.UID == c.UID && now.DeletionTimestamp == nil, nil
}

// leave removes the finalizer of a MemberCluster that somebody deleted, or whose
// Cluster is gone (c is nil then), or that goes with its kind. The objects of placements
// stay in the member.
func (r *Registrar) leave(ctx context.Context, c *clusterv1alpha1.Cluster, m *memberclusterv1.MemberCluster) (gone bool, err error) {
	if err := r.note(ctx, c, m); err != nil {
		return false, err
	}
	works, err := r.members.PlacementWorksOn(ctx, m.Name)
	if err != nil {
		return false, fmt.Errorf("list Works: %w", err)
	}
	for _, w := range works {
		kept := *w
		kept.Spec.PreserveResourcesOnDeletion = new(true)
		if w, err = r.members.CommitWork(ctx, w, &kept); err != nil {
			return false, fmt.Errorf("keep the objects of %s: %w", kept.Key, err)
		}
		if err := r.let(ctx, w); err != nil {
			return false, err
		}
	}
	bound, err := r.bound(ctx, m.Name)
	if failed := outcome.UnlessGone(ctx, err, r.members.MembersRetired); failed != nil || err == nil && bound {
		return false, failed // the scheduler removes them, and this is called again
	}
	_, err = r.members.CommitMember(ctx, m, mirroring.Released(m))
	if errors.Is(err, outcome.ErrGone) {
		return true, nil // somebody else let it go, and counted it
	}
	if err != nil {
		return false, fmt.Errorf("let MemberCluster %s go: %w", m.Name, err)
	}
	leaves.WithLabelValues("true").Inc()
	return true, nil
}

// bound reports whether a placement has a binding to the member that is going to be
// removed. Nothing removes those of a placement that no longer exists, nor, with the
// strategy External, those to members that are not picked any more: another controller
// may, at any time. Nor are those waited for whose kind is not served.
func (r *Registrar) bound(ctx context.Context, member string) (bool, error) {
	bindings, err := r.members.PlacementBindings(ctx)
	if errors.Is(err, outcome.ErrNotServed) {
		return false, nil // their kind may be gone for good; nothing leaves a member for this
	}
	if err != nil {
		return false, fmt.Errorf("list the bindings of placements: %w", err)
	}
	for _, b := range bindings {
		if b.Spec.TargetCluster != member {
			continue
		}
		of := b.Labels[placementv1.LabelParentCRP]
		if of == "" { // it is not known whose it is
			return true, nil
		}
		p, err := r.members.Placement(ctx, of)
		if errors.Is(err, outcome.ErrGone) {
			continue
		}
		if err != nil {
			return true, fmt.Errorf("get placement %s: %w", of, err)
		}
		if p.Spec.Strategy.External() && b.Spec.State == placementv1.BindingStateUnscheduled {
			continue
		}
		return true, nil
	}
	return false, nil
}

// note records on the Cluster that it takes part in placements no more. It does not if
// nobody asked for that: a MemberCluster that is removed with its kind is created again
// with the kind, and one that belonged to an earlier Cluster of that name is created
// again for this one.
func (r *Registrar) note(ctx context.Context, c *clusterv1alpha1.Cluster, m *memberclusterv1.MemberCluster) error {
	if _, left := mirroring.Left(c); c == nil || left || m.Annotations[mirroring.AnnotationClusterGone] != "" || !mirroring.Deleted(m, c) {
		return nil
	}
	retired, err := r.members.MembersRetired(ctx)
	if err != nil || retired {
		return err
	}
	if _, err := r.members.AnnotateCluster(ctx, c, mirroring.AnnotationLeft, m.DeletionTimestamp.UTC().Format(time.RFC3339)); err != nil {
		return fmt.Errorf("note that %s leaves the placements: %w", m.Name, err)
	}
	return nil
}

// listed returns all MemberClusters: none if their kind is not served, or if there are no
// placements.
func (r *Registrar) listed(ctx context.Context) ([]*memberclusterv1.MemberCluster, error) {
	if r.members == nil {
		return nil, nil
	}
	members, err := r.members.Members(ctx)
	if errors.Is(err, outcome.ErrNotServed) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list MemberClusters: %w", err)
	}
	return members, nil
}

// widowed handles the MemberClusters whose Clusters are gone, and emits an event for
// each that is removed.
func (r *Registrar) widowed(ctx context.Context, clusters []*clusterv1alpha1.Cluster, out *events.Batch) error {
	members, err := r.listed(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, m := range members {
		if slices.ContainsFunc(clusters, func(c *clusterv1alpha1.Cluster) bool { return c.Name == m.Name }) {
			continue
		}
		gone, err := r.widow(ctx, m.Name)
		if gone { // decisions name it until it is gone
			out.Emit(events.ClusterChanged, events.Data{Cluster: m.Name, Reason: "MemberClusterChanged"})
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// widow removes the MemberCluster of a Cluster that is gone, unless it was not created
// for a Cluster. It reports whether it is gone.
func (r *Registrar) widow(ctx context.Context, name string) (gone bool, err error) {
	if r.members == nil {
		return false, nil
	}
	if _, err := r.hub.Cluster(ctx, name); !errors.Is(err, outcome.ErrGone) {
		return false, err
	}
	m, err := r.members.Member(ctx, name)
	if errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get MemberCluster %s: %w", name, err)
	}
	if !slices.Contains(m.Finalizers, memberclusterv1.Finalizer) {
		return false, nil
	}
	if m.DeletionTimestamp == nil {
		if m, err = r.members.CommitMember(ctx, m, mirroring.Orphaned(m)); err != nil {
			return false, fmt.Errorf("note on MemberCluster %s that its Cluster is gone: %w", name, err)
		}
		if err := r.members.DeleteMemberAt(ctx, m); err != nil {
			return false, fmt.Errorf("delete MemberCluster %s: %w", name, err)
		}
		if m, err = r.members.Member(ctx, name); err != nil {
			if errors.Is(err, outcome.ErrGone) {
				return true, nil
			}
			return false, err
		}
	}
	return r.leave(ctx, nil, m)
}

// Retire lets those MemberClusters go that are being removed with their kind. It is for
// when the hub serves no Clusters: then nobody can tell which MemberClusters are wanted,
// but their definition stays until all of these are gone, and one that somebody applies
// meanwhile goes with it.
func (r *Registrar) Retire(ctx context.Context) error {
	members, err := r.listed(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, m := range members {
		failed = errors.Join(failed, r.retire(ctx, m))
	}
	return failed
}

// retireOne is Retire for a cluster that an event is about.
func (r *Registrar) retireOne(ctx context.Context, name string) error {
	if r.members == nil {
		return nil
	}
	m, err := r.members.Member(ctx, name)
	if errors.Is(err, outcome.ErrGone) || errors.Is(err, outcome.ErrNotServed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get MemberCluster %s: %w", name, err)
	}
	return r.retire(ctx, m)
}

// retire lets a MemberCluster go if it is being removed with its kind.
func (r *Registrar) retire(ctx context.Context, m *memberclusterv1.MemberCluster) error {
	if m.DeletionTimestamp == nil || !slices.Contains(m.Finalizers, memberclusterv1.Finalizer) {
		return nil
	}
	retired, err := r.members.MembersRetired(ctx)
	if err != nil || !retired {
		return err
	}
	_, err = r.leave(ctx, nil, m)
	return err
}

// Relabelled handles a MemberCluster that somebody wrote or deleted.
func (r *Registrar) Relabelled(ctx context.Context, e event.Event, name string) ([]event.Event, error) {
	c, err := r.hub.Cluster(ctx, name)
	switch {
	case errors.Is(err, outcome.ErrGone):
		_, err = r.widow(ctx, name)
	case errors.Is(err, outcome.ErrNotServed):
		err = errors.Join(err, r.retireOne(ctx, name))
	case err == nil:
		_, _, err = r.member(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	out := events.From(tick.Stage, e)
	out.Emit(events.ClusterChanged, events.Data{Cluster: name, Reason: "MemberClusterChanged"})
	return out.Events()
}
