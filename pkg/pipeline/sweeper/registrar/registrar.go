// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package registrar

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/mirroring"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

const (
	// probesAtOnce is how many members are probed in parallel.
	probesAtOnce = 64
	// letFor is how long one sweep releases the Works of members that are unjoined; the
	// next one continues.
	letFor = 10 * time.Second
	// missedFor is for how long Works of an unjoined member are looked for.
	missedFor = 10 * time.Minute
	// positionRegistered is the name under which the joined members are stored.
	positionRegistered = "registered"
	// positionJoined is the name under which the uids are stored of the Clusters whose
	// members were ready.
	positionJoined = "joined"
)

// Hub is the control plane's API.
type Hub interface {
	Cluster(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error)
	Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error)
	CommitClusterStatus(ctx context.Context, c *clusterv1alpha1.Cluster, status clusterv1alpha1.ClusterStatus) error
	EnsureNamespace(ctx context.Context, name string) error
	Work(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error)
	WorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error)
	DeleteWork(ctx context.Context, w *propagation.Work) error
	ReleaseWork(ctx context.Context, w *propagation.Work) error
}

// Probe returns a member's version, or an error if it is not ready.
type Probe func(ctx context.Context, cluster string) (version string, err error)

// Registrar handles members. It has no state of its own.
type Registrar struct {
	hub   Hub
	probe Probe
	now   func() time.Time
	// members is nil if there are no placements.
	members Members
	usage   Usage
	// kinds is nil if the kinds of members are not listed.
	kinds Kinds
	// identities is nil if nobody asks members who they are.
	identities Identities
	identity   Identity
}

// Identity returns who a member is; empty: it does not say.
type Identity func(ctx context.Context, cluster string) (string, error)

// Identities writes who a member is.
type Identities interface {
	IdentifyCluster(ctx context.Context, c *clusterv1alpha1.Cluster, id string) (*clusterv1alpha1.Cluster, error)
}

// Identifying makes the Registrar write the identity of members into Clusters that were
// made without one: two names of one member are told by it.
func (r *Registrar) Identifying(w Identities, of Identity) *Registrar {
	r.identities, r.identity = w, of
	return r
}

// Kinds returns the kinds that a member serves.
type Kinds func(ctx context.Context, cluster string) (*mirroring.Kinds, error)

// Listing makes the Registrar list on each Cluster the kinds that the member serves.
func (r *Registrar) Listing(k Kinds) *Registrar {
	r.kinds = k
	return r
}

// New returns a Registrar.
func New(h Hub, p Probe, now func() time.Time) *Registrar {
	return &Registrar{hub: h, probe: p, now: now}
}

// answer is what was just read from a member.
type answer struct {
	version string
	failure error
	// usage of its nodes; nil: it was not read.
	usage *mirroring.Usage
	// kinds that it serves; nil: they were not read, or could not be.
	kinds *mirroring.Kinds
	// last is when members were last asked before this; zero: not known.
	last time.Time
}

// ask probes a member, and from time to time reads its nodes and kinds. If reading
// these fails, what was known before stays.
func (r *Registrar) ask(ctx context.Context, cluster string, last time.Time) answer {
	a := answer{last: last}
	a.version, a.failure = r.probe(ctx, cluster)
	if a.failure != nil || !looks(cluster, last, r.now()) {
		return a
	}
	if r.members != nil {
		if u, err := r.usage(ctx, cluster); err == nil {
			a.usage = u
		}
	}
	if r.kinds != nil {
		if k, err := r.kinds(ctx, cluster); err == nil {
			a.kinds = k
		}
	}
	return a
}

// Changed prepares the hub for a cluster that joined, or cleans up after one that is
// unjoined, and notifies the scheduler.
func (r *Registrar) Changed(ctx context.Context, e event.Event, name string) ([]event.Event, error) {
	c, err := r.hub.Cluster(ctx, name)
	switch {
	case errors.Is(err, outcome.ErrGone):
		_, err = r.abandon(ctx, name)
		_, failed := r.widow(ctx, name)
		err = errors.Join(err, failed)
	case errors.Is(err, outcome.ErrNotServed):
		err = errors.Join(err, r.retireOne(ctx, name))
	case err == nil && c.DeletionTimestamp == nil:
		for _, f := range propagation.Forms {
			err = errors.Join(err, r.hub.EnsureNamespace(ctx, f.Namespace(name)))
		}
		if err == nil {
			_, _, err = r.member(ctx, c)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	out := events.From(tick.Stage, e)
	if c != nil && c.DeletionTimestamp == nil && meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ConditionReady) == nil {
		// It has just joined, and somebody waits for it.
		if err := r.report(ctx, c, r.ask(ctx, name, time.Time{}), out); err != nil {
			return nil, err
		}
	}
	out.Emit(events.ClusterChanged, events.Data{Cluster: name, Reason: "ClusterChanged"})
	return out.Events()
}

// abandon deletes the Works of an unjoined cluster; their objects stay in it. It
// reports whether there were any.
func (r *Registrar) abandon(ctx context.Context, cluster string) (any bool, err error) {
	works, err := r.hub.WorksOn(ctx, cluster)
	if err != nil {
		return false, fmt.Errorf("list Works: %w", err)
	}
	return len(works) > 0, r.letAll(ctx, cluster, works)
}

// letAll releases the Works of an unjoined cluster. It reads the Cluster again first:
// it may have joined since the clusters were listed.
func (r *Registrar) letAll(ctx context.Context, cluster string, works []*propagation.Work) error {
	_, err := r.hub.Cluster(ctx, cluster)
	if err == nil {
		return nil
	}
	if !errors.Is(err, outcome.ErrGone) {
		return fmt.Errorf("get cluster %s: %w", cluster, err)
	}
	var failed error
	began := r.now()
	for _, w := range works {
		if w.Key.Cluster != cluster {
			continue
		}
		if r.now().Sub(began) > letFor {
			break // the next sweep continues
		}
		failed = errors.Join(failed, r.let(ctx, w))
	}
	return failed
}

// let deletes a Work and removes its finalizer, without removing its objects.
func (r *Registrar) let(ctx context.Context, w *propagation.Work) error {
	if err := r.hub.DeleteWork(ctx, w); err != nil {
		return fmt.Errorf("delete %s: %w", w.Key, err)
	}
	w, err := r.hub.Work(ctx, w.Key)
	if errors.Is(err, outcome.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.hub.ReleaseWork(ctx, w); err != nil {
		return fmt.Errorf("release %s: %w", w.Key, err)
	}
	return nil
}

// Left releases the Works of members that are unjoined since they were registered, and
// for a while after that, since a stage may have been creating one. If it is not known
// which members were registered, it looks through all Works once.
func (r *Registrar) Left(ctx context.Context, t *tick.Tick, registered map[string]bool, all func() ([]*propagation.Work, error)) error {
	known := map[string]time.Time{} // when they were found missing; zero: they are registered
	if !t.Read(positionRegistered, &known) {
		works, err := all()
		if err != nil {
			return fmt.Errorf("list Works: %w", err)
		}
		for _, w := range works {
			if _, err := w.Template(); err == nil { // otherwise it is not Sluice's
				known[w.Key.Cluster] = time.Time{}
			}
		}
	}
	var failed error
	for cluster, since := range known {
		if _, still := registered[cluster]; still {
			continue
		}
		if since.IsZero() {
			since = t.Now.UTC()
		}
		left, err := r.abandon(ctx, cluster)
		failed = errors.Join(failed, err)
		if known[cluster] = since; err == nil && !left && t.Now.Sub(since) > missedFor {
			delete(known, cluster)
		}
	}
	for cluster := range registered {
		known[cluster] = time.Time{}
	}
	return errors.Join(failed, t.Write(positionRegistered, known))
}

// Sweep updates the Ready condition of every cluster, and returns which clusters are
// registered, and which of these are ready. All Works of a member that was not ready
// before, or that left and joined again, or of all members if the hub was restored, are
// checked once: no event tells what happened to them meanwhile. If it fails for some
// members, the error is partial and the others are in the result.
func (r *Registrar) Sweep(ctx context.Context, t *tick.Tick, restored bool) (ready map[string]bool, err error) {
	clusters, err := r.hub.Clusters(ctx)
	if err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	answers := make([]answer, len(clusters))
	var g errgroup.Group
	g.SetLimit(probesAtOnce)
	for i, c := range clusters {
		g.Go(func() error { answers[i] = r.ask(ctx, c.Name, t.Last); return nil })
	}
	_ = g.Wait() // errors are in answers
	failed := r.widowed(ctx, clusters, t.Out)
	ready = map[string]bool{}
	before, joined := map[string]types.UID{}, map[string]types.UID{}
	known := t.Read(positionJoined, &before)
	for i, c := range clusters {
		joined[c.Name] = before[c.Name]
		if answers[i].failure != nil && ctx.Err() != nil { // it may not have been asked
			ready[c.Name] = conditions.Is(c.Status.Conditions, clusterv1alpha1.ConditionReady, metav1.ConditionTrue)
			continue
		}
		ready[c.Name] = answers[i].failure == nil
		back := conditions.Is(c.Status.Conditions, clusterv1alpha1.ConditionReady, metav1.ConditionFalse) || known && before[c.Name] != c.UID
		if ready[c.Name] && back || restored {
			t.Revisit(c.Name)
		}
		if ready[c.Name] {
			joined[c.Name] = c.UID
		}
		failed = errors.Join(failed, r.report(ctx, c, answers[i], t.Out))
	}
	return ready, outcome.Partly(errors.Join(failed, t.Write(positionJoined, joined), ctx.Err()))
}

// report writes the state of a cluster to its Cluster and its MemberCluster.
func (r *Registrar) report(ctx context.Context, c *clusterv1alpha1.Cluster, a answer, out *events.Batch) error {
	c, err := r.identified(ctx, c, a)
	if err != nil {
		return err
	}
	moved, unmirrored := r.mirrored(ctx, c, a)
	failed := errors.Join(r.readiness(ctx, c, a, out), unmirrored)
	if moved { // decisions name it until it is gone, and only after it was created
		out.Emit(events.ClusterChanged, events.Data{Cluster: c.Name, Reason: "MemberClusterChanged"})
	}
	return failed
}

// identified returns the Cluster with its identity. A member that does not say who it is
// is asked again as often as its nodes are read.
func (r *Registrar) identified(ctx context.Context, c *clusterv1alpha1.Cluster, a answer) (*clusterv1alpha1.Cluster, error) {
	if r.identities == nil || a.failure != nil || c.Spec.ID != "" || c.DeletionTimestamp != nil || !looks(c.Name, a.last, r.now()) {
		return c, nil
	}
	id, err := r.identity(ctx, c.Name)
	if err != nil || id == "" {
		return c, nil
	}
	next, err := r.identities.IdentifyCluster(ctx, c, id)
	if err != nil {
		return nil, fmt.Errorf("write who cluster %s is: %w", c.Name, err)
	}
	return next, nil
}

// readiness writes a cluster's conditions and what was read of it, if anything changed,
// and announces that.
func (r *Registrar) readiness(ctx context.Context, c *clusterv1alpha1.Cluster, a answer, out *events.Batch) error {
	cond := metav1.Condition{Type: clusterv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "ClusterReady", Message: "the cluster answers and can be written to"}
	if a.failure != nil {
		cond.Status, cond.Reason, cond.Message = metav1.ConditionFalse, "ClusterNotReachable", a.failure.Error()
	}
	was := conditions.Is(c.Status.Conditions, clusterv1alpha1.ConditionReady, cond.Status)
	status, changed, news := *c.Status.DeepCopy(), false, false
	status.Conditions, changed = reporting.ClusterConditions(c, r.now())
	if !was || a.failure == nil { // otherwise the first reason stays until it answers
		status.Conditions, news = conditions.Set(status.Conditions, cond, r.now())
		changed = changed || news
	}
	if a.version != "" && a.version != status.KubernetesVersion {
		status.KubernetesVersion, changed = a.version, true
	}
	if a.kinds != nil {
		served, complete := mirroring.Enablements(*a.kinds)
		status.Conditions, news = conditions.Set(status.Conditions, complete, r.now())
		changed = changed || news || !equality.Semantic.DeepEqual(served, status.APIEnablements)
		status.APIEnablements = served
	}
	if summary, news := mirroring.Summary(status.ResourceSummary, a.usage); news {
		status.ResourceSummary, changed = summary, true
	}
	if !changed {
		return nil
	}
	if err := r.hub.CommitClusterStatus(ctx, c, status); err != nil {
		return fmt.Errorf("commit status of cluster %s: %w", c.Name, err)
	}
	if !was {
		out.Emit(events.ClusterChanged, events.Data{Cluster: c.Name, Reason: cond.Reason, Message: cond.Message})
	}
	return nil
}
