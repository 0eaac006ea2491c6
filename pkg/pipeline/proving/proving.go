// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package proving reads the evidence from which pkg/core/applying decides whether an
// object may leave its member.
//
// Invariants:
//   - Everything that a proof depends on is read from the hub's API at that moment, and
//     not taken from a watch.
//   - If the hub refuses or fails to answer (403, 5xx, a kind that it does not serve),
//     that is part of the evidence and not an error: it proves nothing, and people see
//     why. A request that got no answer is an error, and is tried again.
//
// It must not decide.
package proving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling"
	"sluice.dev/pkg/outcome"
)

// Hub is the control plane's API, read live.
type Hub interface {
	TemplateNow(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
	BindingNow(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error)
	ClusterNow(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error)
	WorkNow(ctx context.Context, key propagation.WorkKey) (*propagation.Work, error)
	// Clusters may come from a watch: the cluster of the Work itself is read live.
	Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error)
	// BindingsReferringTo may come from a watch, too: references are recorded for a while
	// before they matter.
	BindingsReferringTo(ctx context.Context, key propagation.TemplateKey) ([]*propagation.Binding, error)
}

// Of returns the evidence about the objects of a Work.
func Of(ctx context.Context, h Hub, w *propagation.Work, now time.Time) (applying.Evidence, error) {
	e := applying.Evidence{Work: w, Now: now}
	key, err := w.Template()
	if err != nil {
		return e, nil //nolint:nilerr // the evidence says so
	}
	if e.Cluster, err = read(h.ClusterNow(ctx, w.Key.Cluster)); err != nil {
		return e, fmt.Errorf("get cluster %s: %w", w.Key.Cluster, err)
	}
	of, err := OfTemplate(ctx, h, key, now)
	if err != nil {
		return e, err
	}
	e.Template, e.Defined, e.Binding = of.Template, of.Defined, of.Binding
	if e.Cluster.Answer == applying.Found && key.Namespace != "" && mayBeTaken(e) {
		if e.Parents, err = h.BindingsReferringTo(ctx, key); err != nil {
			return e, fmt.Errorf("list the bindings that refer to %s: %w", key, err)
		}
	}
	if e.Binding.Answer != applying.Found || e.Cluster.Answer != applying.Found {
		return e, nil
	}
	if by, has := w.Successor(); has {
		if e.Successor, err = read(h.WorkNow(ctx, by)); err != nil {
			return e, fmt.Errorf("get %s: %w", by, err)
		}
	}
	fleet, err := h.Clusters(ctx)
	if err != nil {
		return e, fmt.Errorf("list clusters: %w", err)
	}
	fleet = slices.DeleteFunc(slices.Clone(fleet), func(c *clusterv1alpha1.Cluster) bool { return c.Name == w.Key.Cluster })
	e.Aliases = applying.AliasesOf(e.Cluster.Value, fleet)
	in := scheduling.Input{Binding: e.Binding.Value, Clusters: append(fleet, e.Cluster.Value)}
	e.Settled = scheduling.Settled(in) && !scheduling.Forsaken(in)
	return e, nil
}

// mayBeTaken reports whether it matters which other templates refer to this one: its
// own binding does not want it in the member, or is gone.
func mayBeTaken(e applying.Evidence) bool {
	if e.Binding.Answer == applying.Found {
		return !slices.Contains(e.Binding.Value.TargetClusters(), e.Work.Key.Cluster)
	}
	return e.Binding.Answer == applying.Absent && e.Work.FollowsOthers()
}

// OfTemplate returns the part of the evidence that is the same for all Works of a
// template. If the template does not exist, the binding is not read.
func OfTemplate(ctx context.Context, h Hub, key propagation.TemplateKey, now time.Time) (e applying.Evidence, err error) {
	e.Now = now
	t, err := h.TemplateNow(ctx, key)
	e.Defined = propagation.DefinedSince(err)
	if e.Template, err = read(t, err); err != nil {
		return e, fmt.Errorf("get %s: %w", key, err)
	}
	if e.Template.Answer == applying.Absent {
		return e, nil
	}
	if e.Binding, err = read(h.BindingNow(ctx, propagation.BindingOf(key))); err != nil {
		return e, fmt.Errorf("get the binding of %s: %w", key, err)
	}
	return e, nil
}

// read turns the result of a request into a Read.
func read[T any](v T, err error) (applying.Read[T], error) {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return applying.Have(v), nil
	case errors.Is(err, outcome.ErrGone):
		return applying.None[T](), nil
	case errors.Is(err, outcome.ErrNotServed):
		return applying.Read[T]{Answer: applying.NotServed}, nil
	case outcome.IsConflict(err), !errors.As(err, &status):
		return applying.Read[T]{}, err
	}
	return applying.Read[T]{Why: string(status.Status().Reason)}, nil
}
