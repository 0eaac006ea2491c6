// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "sluice.dev/apis/config/v1alpha1"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/kinds/rules"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// Interpreters are the rules that owners give their kinds. Every process watches them, so
// that they cost no request.
func (h *Hub) Interpreters(context.Context) ([]*rules.Interpreter, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.interpreters), nil
}

// Kinds is what is known of kinds.
func (h *Hub) Kinds(ctx context.Context, b *propagation.Binding) (kinds.Table, error) {
	all, err := h.Interpreters(ctx)
	if err != nil {
		return kinds.Table{}, err
	}
	return rules.Known(all, b, func(made time.Time) (bool, error) {
		return outcome.WentWithItsKind(made, func() (time.Time, error) { return h.Defined(ctx, hub.InterpreterKind()) })
	})
}

// PutInterpreter lets somebody give a kind rules, or others.
func (h *Hub) PutInterpreter(name string, spec configv1alpha1.ResourceInterpreterSpec) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := &configv1alpha1.ResourceInterpreter{Spec: spec}
	o.CreationTimestamp = metav1.NewTime(h.options.Now())
	if at := slices.IndexFunc(h.interpreters, func(i *rules.Interpreter) bool { return i.Name == name }); at >= 0 {
		o.CreationTimestamp = metav1.NewTime(h.interpreters[at].Created)
	}
	o.Name, o.UID, o.Generation, o.ResourceVersion = name, types.UID(name), int64(h.next()), fmt.Sprint(h.version) //nolint:gosec // a small number
	h.interpreters = append(slices.DeleteFunc(h.interpreters, func(i *rules.Interpreter) bool { return i.Name == name }), rules.Of(o))
}

// DropInterpreter lets somebody delete a kind's rules.
func (h *Hub) DropInterpreter(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.interpreters = slices.DeleteFunc(h.interpreters, func(i *rules.Interpreter) bool { return i.Name == name })
}

// CommitInterpreterStatus writes the status of a kind's rules.
func (h *Hub) CommitInterpreterStatus(ctx context.Context, i *rules.Interpreter, status configv1alpha1.ResourceInterpreterStatus) error {
	if same(i.Status, status) {
		return nil
	}
	about := "status of ResourceInterpreter " + i.Name
	if err := h.ask(ctx, "update", about); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.IndexFunc(h.interpreters, func(o *rules.Interpreter) bool { return o.UID == i.UID && o.ResourceVersion == i.ResourceVersion })
	if at < 0 {
		return outcome.Conflict(fmt.Errorf("%s has changed", about))
	}
	next := *i
	next.Status, next.ResourceVersion = copyOf(status), fmt.Sprint(h.next())
	h.interpreters[at] = &next
	return h.wrote(ctx, "update", about, i, &next)
}
