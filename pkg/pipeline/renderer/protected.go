// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"context"
	"errors"
	"fmt"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/outcome"
)

// shield records on the Works whether the namespace of their template is protected from
// deletion, since that cannot be read any more when the namespace is gone.
func (s *Stage) shield(ctx context.Context, namespace string, existing []*propagation.Work, desired map[string]*propagation.Work) error {
	if namespace == "" || len(desired) == 0 {
		return nil
	}
	labels, err := s.hub.Namespace(ctx, namespace)
	if err != nil && !errors.Is(err, outcome.ErrGone) {
		return fmt.Errorf("get namespace %s: %w", namespace, err)
	}
	shielded := map[string]bool{}
	for _, w := range existing {
		shielded[w.Key.Cluster] = w.Shielded()
	}
	for cluster, w := range desired {
		switch {
		case propagation.Protected(labels):
			w.Annotations[propagation.AnnotationShielded] = "true"
		case shielded[cluster]:
			w.Annotations[propagation.AnnotationShielded] = "false"
		}
	}
	return nil
}

// preserve makes a Work that is about to be deleted keep the member's object, if it is
// deleted because a protected namespace is.
func (s *Stage) preserve(ctx context.Context, step *rendering.Step) error {
	w := step.Existing
	if !w.Shielded() {
		return nil
	}
	namespace := w.Binding().Namespace
	leaves, err := s.hub.NamespaceLeaves(ctx, namespace)
	if err != nil {
		return fmt.Errorf("get namespace %s: %w", namespace, err)
	}
	if !leaves {
		return nil
	}
	kept := *w
	kept.Spec.PreserveResourcesOnDeletion = new(true)
	if step.Existing, err = s.hub.CommitWork(ctx, w, &kept); err != nil {
		return fmt.Errorf("commit %s: %w", w.Key, err)
	}
	return nil
}
