// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
)

// listsAtOnce bounds the requests of Claimed.
const listsAtOnce = 8

// Claimed returns the kinds of which at least one object has a claim in its metadata,
// whether or not a policy selects the kind: two small requests for each kind that the
// hub serves. It is for the start of a process. Where some requests fail it returns an
// error, and the kinds that it found all the same.
func (h *Hub) Claimed(ctx context.Context) ([]schema.GroupVersionKind, error) {
	groups, err := h.preferred(ctx)
	if err != nil {
		return nil, err
	}
	var (
		mu      sync.Mutex
		claimed []schema.GroupVersionKind
		failed  []error
		g       errgroup.Group
	)
	g.SetLimit(listsAtOnce)
	for _, gv := range groups {
		kinds, err := h.catalog.Kinds(gv)
		if err != nil {
			mu.Lock()
			failed = append(failed, err)
			mu.Unlock()
		}
		for _, r := range kinds {
			if !r.Lists || matching.Exempt(propagation.TemplateKey{APIVersion: gv.String(), Kind: r.Kind}) != "" {
				continue
			}
			g.Go(func() error {
				yes, err := h.claimed(ctx, r.GroupVersionKind)
				mu.Lock()
				defer mu.Unlock()
				if yes {
					claimed = append(claimed, r.GroupVersionKind)
				}
				failed = append(failed, err)
				return nil // an error must not end the other requests
			})
		}
	}
	failed = append(failed, g.Wait())
	slices.SortFunc(claimed, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return claimed, errors.Join(failed...)
}

// preferred are the groups that the hub serves, each in its preferred version.
func (h *Hub) preferred(ctx context.Context) ([]schema.GroupVersion, error) {
	raw, err := do(ctx, h.client.Get().AbsPath("/apis"))
	if err != nil {
		return nil, fmt.Errorf("discover groups: %w", err)
	}
	var list metav1.APIGroupList
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("decode groups: %w", err)
	}
	all := []schema.GroupVersion{{Version: "v1"}}
	for _, g := range list.Groups {
		all = append(all, schema.GroupVersion{Group: g.Name, Version: g.PreferredVersion.Version})
	}
	return all, nil
}

// claimed tells whether any object of the kind says that a policy holds it.
func (h *Hub) claimed(ctx context.Context, gvk schema.GroupVersionKind) (bool, error) {
	k, err := h.templateKind(gvk)
	if err != nil {
		return false, ignoreAbsent(err)
	}
	for _, label := range []string{propagation.ClaimLabelNamespaced, propagation.ClaimLabelCluster} {
		p, err := k.listPage(ctx, query{labels: label, limit: 1})
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsForbidden(err) {
			return false, nil // then nobody has written a claim on one either
		}
		if err != nil {
			return false, explain(err, "list claimed "+gvk.Kind)
		}
		if len(p.Objects) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// Watched are the kinds of templates that this process watches.
func (h *Hub) Watched() []schema.GroupVersionKind {
	h.mu.Lock()
	defer h.mu.Unlock()
	var kinds []schema.GroupVersionKind
	for gvk, k := range h.templates {
		if k.store.Load().begun() {
			kinds = append(kinds, gvk)
		}
	}
	return kinds
}
