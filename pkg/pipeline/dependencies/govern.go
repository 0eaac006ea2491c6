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

// govern has a dependency's binding say what the
// policies of all that require it want. The one that is known was read already; one
// that is missing has no say.
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

// found mentions that a template refers to others than before.
func (s *Stage) found(ctx context.Context, parent *propagation.Binding, before []propagation.TemplateKey) {
	now := dependencies.Recorded(parent)
	if len(now) == 0 || slices.Equal(now, before) {
		return
	}
	s.hub.Mention(ctx, hub.AboutTemplateOf(parent), workv1alpha2.EventReasonGetDependenciesSucceed,
		fmt.Sprintf("Get dependencies of %s succeed: %d.", parent.Template(), len(now)))
}

// tell records a conflict of policies over one dependency when it arises.
func (s *Stage) tell(ctx context.Context, old, next *propagation.Binding) {
	conflict := dependencies.Conflict(next)
	if conflict == "" || old != nil && dependencies.Conflict(old) == conflict {
		return
	}
	s.hub.Record(ctx, hub.AboutBinding(next), hub.Warning, workv1alpha2.EventReasonDependencyPolicyConflict, conflict)
}
