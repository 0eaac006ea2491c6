// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"context"
	"errors"
	"fmt"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/proving"
)

// leaves tells which Works may go: those that a binding in force leaves out, and,
// where there is no such binding, those whose template is gone. That the binding is
// missing proves nothing. Whether the object may leave its member is proven once
// more by the applier, from what it reads then.
func (s *Stage) leaves(ctx context.Context, key propagation.TemplateKey, b *propagation.Binding, existing []*propagation.Work) (func(*propagation.Work) bool, error) {
	if b != nil && !b.Deleting {
		omitted := applying.Omitted(b, true) == ""
		return func(*propagation.Work) bool { return omitted }, nil
	}
	if len(existing) == 0 {
		return func(*propagation.Work) bool { return false }, nil
	}
	e, err := proving.OfTemplate(ctx, s.hub, key, s.now())
	if err != nil {
		return nil, err
	}
	return func(w *propagation.Work) bool {
		e.Work, e.Cluster = w, applying.Have(&clusterv1alpha1.Cluster{}) // that the cluster is there, the applier asks
		return applying.Examine(e).Proof.Holds()
	}, nil
}

// room makes the Work where its namespace was missing, and has to be there: the
// cluster is joined. outcome.ErrGone: it has left.
func (s *Stage) room(ctx context.Context, w *propagation.Work) (*propagation.Work, error) {
	c, err := s.hub.ClusterNow(ctx, w.Key.Cluster)
	if err != nil {
		return nil, err
	}
	if c.DeletionTimestamp != nil {
		return nil, fmt.Errorf("cluster %s is leaving: %w", c.Name, outcome.ErrGone)
	}
	if err := s.hub.EnsureNamespace(ctx, w.Key.Namespace()); err != nil {
		return nil, err
	}
	made, err := s.hub.CommitWork(ctx, nil, w)
	if errors.Is(err, outcome.ErrGone) {
		return nil, outcome.Conflict(fmt.Errorf("namespace %s: %w", w.Key.Namespace(), errGoing))
	}
	return made, err
}

var errGoing = errors.New("it is being deleted, or was a moment ago")
