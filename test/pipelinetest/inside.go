// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"errors"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
)

// Inside is what an object of the member holds for which the account does not account.
func (m *Member) Inside(ctx context.Context, h applying.Holder, a applying.Account) (applying.Read[[]applying.Inhabitant], error) {
	var found []applying.Inhabitant
	if err := m.ask(ctx, "list", "what "+h.Namespace+h.Plural+" holds"); err != nil {
		if errors.As(err, new(*member.Refused)) {
			return applying.Read[[]applying.Inhabitant]{Why: err.Error()}, nil // nobody can tell
		}
		return applying.Read[[]applying.Inhabitant]{}, err
	}
	for _, o := range m.Objects() {
		kind := o.Ref.GroupVersionKind().GroupKind()
		if !h.Definition && o.Ref.Namespace != h.Namespace || h.Definition && kind != h.Kind.GroupKind() || !applying.Lists(kind) {
			continue
		}
		i := applying.Inhabitant{GroupKind: kind, Namespace: o.Ref.Namespace, Name: o.Ref.Name, UID: o.UID, Annotations: map[string]string{applying.AnnotationHub: o.Hub}}
		if o.Work != "" {
			i.Labels = map[string]string{propagation.LabelMemberWork: o.Work}
		}
		if a.Counts(h, i) {
			found = append(found, i)
		}
	}
	return applying.Have(found), nil
}
