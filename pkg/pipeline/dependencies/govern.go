// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package dependencies

import (
	"context"
	"errors"
	"fmt"
	"slices"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// govern sets on a dependency's binding what the policies of all bindings that require
// it ask for. known was read already. A binding that is missing is ignored.
func (s *Stage) govern(ctx context.Context, next, known *propagation.Binding) (*propagation.Binding, error) {
	var parents []*propagation.Binding
	for _, r := range next.Spec.RequiredBy {
		key := propagation.BindingKey{Namespace: r.Namespace, Name: r.Name}
		if known != nil && known.Key == key {
			parents = append(parents, known)
			continue
		}
		p, err := s.hub.Binding(ctx, key)
		if errors.Is(err, outcome.ErrGone) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get %s: %w", key, err)
		}
		parents = append(parents, p)
	}
	return dependencies.Governed(next, parents), nil
}

// found records a Kubernetes event if the template refers to other objects than before.
func (s *Stage) found(ctx context.Context, parent *propagation.Binding, before []propagation.TemplateKey) {
	now := dependencies.Recorded(parent)
	if len(now) == 0 || slices.Equal(now, before) {
		return
	}
	s.hub.Mention(ctx, hub.AboutTemplateOf(parent), workv1alpha2.EventReasonGetDependenciesSucceed,
		fmt.Sprintf("Get dependencies of %s succeed: %d.", parent.Template(), len(now)))
}

// tell records a Kubernetes event if policies begin to conflict over a dependency.
func (s *Stage) tell(ctx context.Context, old, next *propagation.Binding) {
	conflict := dependencies.Conflict(next)
	if conflict == "" || old != nil && dependencies.Conflict(old) == conflict {
		return
	}
	s.hub.Record(ctx, hub.AboutBinding(next), hub.Warning, workv1alpha2.EventReasonDependencyPolicyConflict, conflict)
}
