// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
	"sluice.dev/pkg/redis/claims"
)

// Room is the name of this room on a page.
const Room = "auditor"

// The names of the auditor's rounds among the positions.
const (
	roundWorks      = "sweep works"
	roundOverdue    = "sweep overdue"
	roundFailing    = "sweep failing"
	roundUnrendered = "sweep unrendered"
	roundUnplaced   = "sweep unplaced"
	roundContents   = "sweep contents"
	roundStrays     = "sweep strays"
	roundProtection = "sweep protection"
	roundRoomless   = "sweep roomless"
)

// Hub is the control plane's API.
type Hub interface {
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error)
	Work(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error)
	WorksOf(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error)
	PolicyWorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error)
	// LinkedBindings returns the bindings of a namespace that are dependencies or have
	// dependencies.
	LinkedBindings(ctx context.Context, namespace string) ([]*propagation.Binding, error)
	BindingsReferringTo(ctx context.Context, key propagation.TemplateKey) ([]*propagation.Binding, error)
	Contents(ctx context.Context, key propagation.WorkKey) (*propagation.KeptContents, error)
	Policies(ctx context.Context) ([]*propagation.Policy, error)
	// Namespaces returns the namespaces that match the label selector.
	Namespaces(ctx context.Context, selector string) ([]string, error)
}

// Placements reads placements, their bindings and their Works.
type Placements interface {
	Placements(ctx context.Context) ([]*placementv1.ClusterResourcePlacement, error)
	PlacementBindings(ctx context.Context) ([]*placementv1.ClusterResourceBinding, error)
	PlacementBindingsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error)
	PlacementWorks(ctx context.Context) ([]*propagation.Work, error)
	PlacementWorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error)
	WorksOfPlacement(ctx context.Context, placement string) ([]*propagation.Work, error)
}

// Index knows which policy holds which template.
type Index interface {
	Look(ctx context.Context, t propagation.TemplateKey) (claims.View, error)
	Held(ctx context.Context, key propagation.PolicyKey, cursor string, n int) ([]propagation.TemplateKey, string, error)
}

// Auditor audits. It has no state of its own.
type Auditor struct {
	hub   Hub
	index Index
	now   func() time.Time
	// placements is nil if placements are not audited.
	placements Placements
	// atOnce is the number of Works after which a sweep reads those of no other member.
	atOnce int
	// paged: a sweep looks only at some of the placements.
	paged bool
}

// New returns an Auditor.
func New(h Hub, i Index, now func() time.Time) *Auditor {
	return &Auditor{hub: h, index: i, now: now, atOnce: worksAtOnce}
}

// Placing makes the Auditor audit placements, too.
func (a *Auditor) Placing(p Placements) *Auditor {
	a.placements = p
	return a
}

// Paging makes the Auditor look at some placements in each sweep instead of all.
func (a *Auditor) Paging() *Auditor {
	a.paged = true
	return a
}

// Books are the bindings and Works to audit.
type Books struct {
	// Page has the bindings.
	Page *page.Page
	// Ready are the registered members, with whether they are ready.
	Ready map[string]bool
	// Works are the policies' Works, all of those in the members that are Here.
	Works []*propagation.Work
	Here  map[string]bool
	// Placed are the Works of placements in these members, if a sweep looks at some
	// only.
	Placed []*propagation.Work
	// through: with this sweep, all members have been looked at since the page was
	// opened.
	through bool
}

// elsewhere reports whether a registered member is not looked at in this sweep.
func (b Books) elsewhere(cluster string) bool {
	_, registered := b.Ready[cluster]
	return registered && !b.Here[cluster]
}

// Sweep announces what is not rendered, what is unschedulable and no longer need be,
// Works whose ready members do not have what is in them, Works whose binding is gone, and
// bindings that nothing needs.
func (a *Auditor) Sweep(ctx context.Context, t *tick.Tick, b Books) error {
	failed := errors.Join(a.strays(ctx, t, b), a.unrendered(ctx, t, b), a.roomless(ctx, t, b))
	onceMore := !t.Partly && b.Page.Fresh && (t.InMind(roundStrays) || t.InMind(roundUnrendered))
	if b.through && !onceMore {
		b.Page.Done(Room)
	}
	placed, err := a.unplaced(ctx, t, b)
	failed = errors.Join(failed, err, a.protection(ctx, t, b), a.unkept(ctx, t, b))
	f := found{ready: b.Ready, bound: a.binder(ctx, b.Page), now: a.now()}
	if !t.Partly {
		f.last = t.Last
	}
	for _, w := range slices.Concat(b.Works, placed) {
		d, err := aboutWork(w)
		if err != nil {
			continue // not Sluice's
		}
		f.sort(w, d)
	}
	f.announce(t, b.elsewhere)
	return failed
}

// binder returns a function that reports whether the binding of a Work exists. A
// binding that would be on another page counts as existing; one that is missing on this
// page is read from the hub, since the page may be older than the Work.
func (a *Auditor) binder(ctx context.Context, p *page.Page) func(propagation.BindingKey) bool {
	on, asked := p.On(), map[propagation.BindingKey]bool{}
	return func(key propagation.BindingKey) bool {
		if b := on[key]; b != nil {
			return !b.AwaitsTemplate()
		}
		if p.Whole || !p.Spans(key) {
			return !p.Whole
		}
		bound, known := asked[key]
		if !known && len(asked) < tick.Batch { // the next sweeps read the others
			b, err := a.hub.Binding(ctx, key)
			bound = err == nil && !b.AwaitsTemplate() || err != nil && !errors.Is(err, outcome.ErrGone)
			asked[key] = bound
			known = true
		}
		return bound || !known
	}
}

// current returns those of the page's bindings that nobody has written since the page
// was listed: it may be some minutes older than the Works.
func (a *Auditor) current(ctx context.Context, p *page.Page, found []*propagation.Binding) (now []*propagation.Binding, failed error) {
	if p.Whole {
		return found, nil
	}
	for _, b := range found {
		live, err := a.hub.Binding(ctx, b.Key)
		switch {
		case errors.Is(err, outcome.ErrGone):
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("get %s: %w", b.Key, err))
		case live.ResourceVersion == b.ResourceVersion:
			now = append(now, b)
		}
	}
	return now, failed
}
