// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/kinds/rules"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

var interpreterKind = resource{
	GroupVersionKind: configv1alpha1.SchemeGroupVersion.WithKind(configv1alpha1.KindResourceInterpreter),
	Plural:           configv1alpha1.ResourceResourceInterpreters, Status: true,
}

// InterpreterKind is the kind of the rules that owners give their kinds. A process that
// asks for them often watches it.
func InterpreterKind() schema.GroupVersionKind { return interpreterKind.GroupVersionKind }

// decodeInterpreter compiles the rules, once for each change of the object.
func decodeInterpreter(raw []byte) (record[*rules.Interpreter], error) {
	o := &configv1alpha1.ResourceInterpreter{}
	if err := utiljson.Unmarshal(raw, o); err != nil {
		return record[*rules.Interpreter]{}, fmt.Errorf("decode: %w", err)
	}
	return recordOf(&o.ObjectMeta, rules.Of(o)), nil
}

// Interpreters are the rules that owners give their kinds, sorted by name; none where
// the hub does not serve them.
func (h *Hub) Interpreters(ctx context.Context) ([]*rules.Interpreter, error) {
	all, err := h.interpreters.list(ctx, "")
	if errors.Is(err, outcome.ErrNotServed) {
		return nil, nil
	}
	return all, err
}

// Kinds is what is known of kinds, with what their owners say; for the template of the
// binding, what they said when it was bound, if that went with its definition (rules.Known).
// Without a binding (nil), or where nothing is missing, it costs no further request.
func (h *Hub) Kinds(ctx context.Context, b *propagation.Binding) (kinds.Table, error) {
	known, err := h.Rules(ctx)
	if err != nil {
		return kinds.Table{}, err
	}
	return known(b)
}

// Rules is Kinds for many bindings: it reads once.
func (h *Hub) Rules(ctx context.Context) (func(b *propagation.Binding) (kinds.Table, error), error) {
	all, unserved := h.interpreters.list(ctx, "")
	if unserved != nil && !errors.Is(unserved, outcome.ErrNotServed) {
		return nil, unserved
	}
	defined := sync.OnceValues(func() (time.Time, error) {
		if unserved != nil {
			return time.Time{}, unserved
		}
		return h.Defined(ctx, InterpreterKind())
	})
	return func(b *propagation.Binding) (kinds.Table, error) {
		return rules.Known(all, b, func(made time.Time) (bool, error) { return outcome.WentWithItsKind(made, defined) })
	}, nil
}

// CommitInterpreterStatus writes the status of the rules as they were read.
func (h *Hub) CommitInterpreterStatus(ctx context.Context, i *rules.Interpreter, status configv1alpha1.ResourceInterpreterStatus) error {
	status.Conditions = conditions.Bound(status.Conditions)
	if equal, err := same(i.Status, status); err != nil || equal {
		return err
	}
	name := types.NamespacedName{Name: i.Name}
	_, err := h.interpreters.put(ctx, name, object[struct{}, configv1alpha1.ResourceInterpreterStatus]{
		TypeMeta: interpreterKind.TypeMeta(), ObjectMeta: identity(name, i.UID, i.ResourceVersion), Status: status,
	}, "status")
	return err
}
