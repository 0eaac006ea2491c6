// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// historyRow is a revision of a policy, and the uid in its label.
type historyRow struct {
	*propagation.PolicyRevision
	of types.UID
}

func historyID(r *propagation.PolicyRevision) string { return r.Namespace + "/" + r.Name }

// PolicyRevision is what is kept under the name of what the policy says now.
func (h *Hub) PolicyRevision(ctx context.Context, p *propagation.Policy) (*propagation.PolicyRevision, error) {
	r := p.Revision()
	if err := h.ask(ctx, "get", "history "+r.Name); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if kept := h.history[historyID(r)]; kept != nil {
		return kept.PolicyRevision, nil
	}
	return nil, fmt.Errorf("get history %s: %w", r.Name, outcome.ErrGone)
}

// PolicyRevisions are all that are kept of the policy.
func (h *Hub) PolicyRevisions(ctx context.Context, p *propagation.Policy) ([]*propagation.PolicyRevision, error) {
	if err := h.ask(ctx, "list", "history of "+p.Key.String()); err != nil {
		return nil, err
	}
	return h.LiveHistory(p), nil
}

// LiveHistory are all revisions of a policy as they are, the oldest first. For tests.
func (h *Hub) LiveHistory(p *propagation.Policy) []*propagation.PolicyRevision {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*propagation.PolicyRevision
	for _, id := range slices.Sorted(maps.Keys(h.history)) {
		if r := h.history[id]; r.of == p.UID {
			all = append(all, r.PolicyRevision)
		}
	}
	slices.SortStableFunc(all, func(a, b *propagation.PolicyRevision) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// KeepPolicyRevision keeps what the policy says.
func (h *Hub) KeepPolicyRevision(ctx context.Context, p *propagation.Policy, r *propagation.PolicyRevision) error {
	if err := h.ask(ctx, "create", "history "+r.Name); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.history[historyID(r)] != nil {
		return outcome.Conflict(fmt.Errorf("create history %s: %w", r.Name, errTaken))
	}
	next := *r
	next.UID, next.Spec = types.UID(fmt.Sprintf("history-%03d", len(h.history))), unshared(r.Spec)
	h.history[historyID(r)] = &historyRow{&next, p.UID}
	return h.wrote(ctx, "create", "history "+r.Name, nil, &next)
}

// DropPolicyRevision forgets a revision.
func (h *Hub) DropPolicyRevision(ctx context.Context, r *propagation.PolicyRevision) error {
	if err := h.ask(ctx, "delete", "history "+r.Name); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if kept := h.history[historyID(r)]; kept == nil || kept.UID != r.UID {
		return nil
	}
	delete(h.history, historyID(r))
	return h.wrote(ctx, "delete", "history "+r.Name, r, nil)
}

// ForgeHistory has an editor of the namespace put something under that name, with the
// policy's label. For tests.
func (h *Hub) ForgeHistory(p *propagation.Policy, r *propagation.PolicyRevision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.history[historyID(r)] = &historyRow{r, p.UID}
}
