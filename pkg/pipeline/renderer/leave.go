// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/proving"
)

// leaves tells which Works may go: those that a binding in force leaves out, and,
// where there is no such binding, those whose template is gone. That the binding is
// missing proves nothing. Whether the object may leave its member is proven once
// more by the applier, from what it reads then. Unserved: there is no binding, and the
// hub does not serve the template's kind.
func (s *Stage) leaves(ctx context.Context, key propagation.TemplateKey, b *propagation.Binding, existing []*propagation.Work) (may func(*propagation.Work) bool, unserved bool, err error) {
	if b != nil && !b.Deleting {
		omitted := applying.Omitted(b, true) == ""
		return func(*propagation.Work) bool { return omitted }, false, nil
	}
	if !slices.ContainsFunc(existing, func(w *propagation.Work) bool { return !w.Deleting }) { // nothing is to be decided
		return func(*propagation.Work) bool { return false }, false, nil
	}
	e, err := proving.OfTemplate(ctx, s.hub, key, s.now())
	if err != nil {
		return nil, false, err
	}
	e.Others = applying.Have(applying.Others{})
	return func(w *propagation.Work) bool {
		e.Work, e.Cluster = w, applying.Have(&clusterv1alpha1.Cluster{}) // that the cluster is there, and who else wants it, the applier asks
		return applying.Examine(e).Proof.Holds()
	}, e.Template.Answer == applying.NotServed, nil
}

// shelter has the members keep what Works gave them whose template went with its kind,
// which nobody asked of that template: when the kind is served again, the template may
// come later. The next time that the Works are rendered, they say what their policy
// does.
func (s *Stage) shelter(ctx context.Context, steps []rendering.Step) error {
	for i, step := range steps {
		w := step.Existing
		if keep := w.Spec.PreserveResourcesOnDeletion; step.Action != rendering.Doubt || w.Deleting || keep != nil && *keep {
			continue
		}
		kept := *w
		kept.Spec.PreserveResourcesOnDeletion = new(true)
		next, err := s.hub.CommitWork(ctx, w, &kept)
		if err != nil {
			return fmt.Errorf("commit %s: %w", w.Key, err)
		}
		steps[i].Existing = next
	}
	return nil
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
