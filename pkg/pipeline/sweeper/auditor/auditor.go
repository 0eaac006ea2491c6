// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"errors"
	"slices"
	"time"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/sweeper/tick"
	"sluice.dev/pkg/redis/claims"
)

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
)

// Hub is the control plane's API.
type Hub interface {
	Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	Work(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error)
	WorksOf(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error)
	PolicyWorksOn(ctx context.Context, cluster string) ([]*propagation.Work, error)
	Contents(ctx context.Context, key propagation.WorkKey) (*propagation.KeptContents, error)
	Policies(ctx context.Context) ([]*propagation.Policy, error)
	// Namespaces are those with these labels.
	Namespaces(ctx context.Context, selector string) ([]string, error)
}

// Placements are who else has Works.
type Placements interface {
	PlacementBindings(ctx context.Context) ([]*placementv1.ClusterResourceBinding, error)
	PlacementWorks(ctx context.Context) ([]*propagation.Work, error)
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

// Books are what is audited.
type Books struct {
	Bindings []*propagation.Binding
	// Ready are the members that are registered, and which of them answer.
	Ready map[string]bool
	// Works are those of policies, all of the members that are Here.
	Works []*propagation.Work
	Here  map[string]bool
}

// elsewhere are members that are registered, and whose turn it is not.
func (b Books) elsewhere(cluster string) bool {
	_, registered := b.Ready[cluster]
	return registered && !b.Here[cluster]
}

// Sweep announces what is not rendered, the Works that ready members do not have as
// they say, those whose binding is gone, and bindings that nobody needs.
func (a *Auditor) Sweep(ctx context.Context, t *tick.Tick, b Books) error {
	strays(t, b.Bindings)
	unrendered(t, b)
	placed, err := a.unplaced(ctx, t, b)
	failed := errors.Join(err, a.protection(ctx, t, b), a.unkept(ctx, t, b))
	bound := make(map[propagation.BindingKey]bool, len(b.Bindings))
	for _, one := range b.Bindings {
		bound[one.Key] = !one.AwaitsTemplate()
	}
	f := found{ready: b.Ready, bound: bound, now: a.now()}
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
