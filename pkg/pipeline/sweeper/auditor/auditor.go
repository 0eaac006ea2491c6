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

// Room is what a page knows the auditor by.
const Room = "auditor"

// The rounds that audits make, as they are named among the positions.
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
	// LinkedBindings are those of a namespace that follow others, or that others follow.
	LinkedBindings(ctx context.Context, namespace string) ([]*propagation.Binding, error)
	Contents(ctx context.Context, key propagation.WorkKey) (*propagation.KeptContents, error)
	Policies(ctx context.Context) ([]*propagation.Policy, error)
	// Namespaces are those with these labels.
	Namespaces(ctx context.Context, selector string) ([]string, error)
}

// Placements are who else has Works.
type Placements interface {
	Placements(ctx context.Context) ([]*placementv1.ClusterResourcePlacement, error)
	PlacementBindings(ctx context.Context) ([]*placementv1.ClusterResourceBinding, error)
	PlacementBindingsOf(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error)
	PlacementWorks(ctx context.Context) ([]*propagation.Work, error)
	PlacementWorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error)
	WorksOfPlacement(ctx context.Context, placement string) ([]*propagation.Work, error)
}

// Index knows who holds which template.
type Index interface {
	Look(ctx context.Context, t propagation.TemplateKey) (claims.View, error)
	Held(ctx context.Context, key propagation.PolicyKey, cursor string, n int) ([]propagation.TemplateKey, string, error)
}

// Auditor audits. It has no state of its own.
type Auditor struct {
	hub   Hub
	index Index
	now   func() time.Time
	// placements is nil where there are none.
	placements Placements
	// atOnce is after how many Works a sweep opens no other member's.
	atOnce int
	// paged: of what placements have, a sweep looks at some.
	paged bool
}

// New makes it.
func New(h Hub, i Index, now func() time.Time) *Auditor {
	return &Auditor{hub: h, index: i, now: now, atOnce: worksAtOnce}
}

// Placing makes it audit what placements have, too.
func (a *Auditor) Placing(p Placements) *Auditor {
	a.placements = p
	return a
}

// Paging has it look at some of what placements have with each sweep, and not at all.
func (a *Auditor) Paging() *Auditor {
	a.paged = true
	return a
}

// Books are what is audited.
type Books struct {
	// Page are the bindings.
	Page *page.Page
	// Ready are the members that are registered, and which of them answer.
	Ready map[string]bool
	// Works are those of policies, all of the members that are Here.
	Works []*propagation.Work
	Here  map[string]bool
	// Placed are the Works of placements in them, where not all are looked at.
	Placed []*propagation.Work
	// through: with this sweep all members were looked at since the page was opened.
	through bool
}

// elsewhere are members that are registered, and whose turn it is not.
func (b Books) elsewhere(cluster string) bool {
	_, registered := b.Ready[cluster]
	return registered && !b.Here[cluster]
}

// Sweep announces what is not rendered, what finds room now, the Works that ready members do not have as
// they say, those whose binding is gone, and bindings that nobody needs.
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
			continue // not ours
		}
		f.sort(w, d)
	}
	f.announce(t, b.elsewhere)
	return failed
}

// binder tells whether the binding of a Work is there. Of one that would be on another
// page it is; of one that is missing on this page the hub is asked, for what it says of
// a page may be older than the Work.
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
		if !known && len(asked) < tick.Batch { // of more the next sweeps ask
			b, err := a.hub.Binding(ctx, key)
			bound = err == nil && !b.AwaitsTemplate() || err != nil && !errors.Is(err, outcome.ErrGone)
			asked[key] = bound
			known = true
		}
		return bound || !known
	}
}

// current are those of the page that nobody has written since it was listed: a page may
// be some minutes older than the Works.
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
