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

// leaves returns which Works may be deleted: those that a binding in force leaves out
// and, if there is none, those whose template is gone. A missing binding proves
// nothing. Whether the object may leave its member is proven again by the applier, from
// what it reads then. told: if there is no binding, what the hub says of the template.
func (s *Stage) leaves(ctx context.Context, key propagation.TemplateKey, b *propagation.Binding, existing []*propagation.Work) (may func(*propagation.Work) bool, told applying.Answer, err error) {
	if b != nil && !b.Deleting {
		omitted := applying.Omitted(b, true) == ""
		return func(*propagation.Work) bool { return omitted }, told, nil
	}
	if !slices.ContainsFunc(existing, func(w *propagation.Work) bool { return !w.Deleting }) { // nothing to decide
		return func(*propagation.Work) bool { return false }, told, nil
	}
	e, err := proving.OfTemplate(ctx, s.hub, key, s.now())
	if err != nil {
		return nil, told, err
	}
	e.Others = applying.Have(applying.Others{})
	return func(w *propagation.Work) bool {
		e.Work, e.Cluster = w, applying.Have(&clusterv1alpha1.Cluster{}) // the applier checks that the cluster exists, and who else wants the object
		return applying.Examine(e).Proof.Holds()
	}, e.Template.Answer, nil
}

// shelter makes the members keep the objects of Works whose template is gone because
// its kind was removed: nobody asked to delete that template, and it may be created
// again when the kind is served again. The next time that the Works are rendered, they
// follow their policy again.
func (s *Stage) shelter(ctx context.Context, steps []rendering.Step) error {
	return each(ctx, len(steps), func(i int) error {
		w := steps[i].Existing
		if keep := w.Spec.PreserveResourcesOnDeletion; steps[i].Action != rendering.Doubt || w.Deleting || keep != nil && *keep {
			return nil
		}
		kept := *w
		kept.Spec.PreserveResourcesOnDeletion = new(true)
		next, err := s.hub.CommitWork(ctx, w, &kept)
		if err != nil {
			return fmt.Errorf("commit %s: %w", w.Key, err)
		}
		steps[i].Existing = next
		return nil
	})
}

// room creates the namespace of a Work if it is missing although the cluster is joined,
// and then the Work. outcome.ErrGone: the cluster is unjoined.
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
