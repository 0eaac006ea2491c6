// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
)

// edited is the floor of a template's change.
func edited(ctx context.Context, w *writing) {
	hub, hash := w.lab.hub, w.revisionName[strings.LastIndex(w.revisionName, "-")+1:]
	w.replace[says], w.replace[hash] = saysNow, strings.Repeat("0", len(hash))
	w.do(ctx, hub, merge, w.templatePath(), `{"data":{"greeting":"`+says+`"}}`)
	w.do(ctx, hub, create, w.revisionPath(), w.revision)
	w.do(ctx, hub, merge, w.bindingPath(), w.acted)
	w.deliver(ctx, put, w.lab.members, nil)
	w.sumUp(ctx, w.lab.members)
}

// rendered is the floor of an override, by which the members' objects say this.
func rendered(now string) func(ctx context.Context, w *writing) {
	return func(ctx context.Context, w *writing) {
		w.replace[says] = now
		w.deliver(ctx, put, w.lab.members, nil)
	}
}

// narrowed is the floor of a placement without the last member.
func narrowed(ctx context.Context, w *writing) {
	last := len(w.lab.members) - 1
	w.choose(ctx, w.lab.members[:last])
	w.leave(ctx, w.lab.members[last:])
	w.sumUp(ctx, w.lab.members[:last])
}

// widened is the floor of a placement that has it again.
func widened(ctx context.Context, w *writing) {
	w.choose(ctx, w.lab.members)
	w.deliver(ctx, create, w.lab.members[len(w.lab.members)-1:], nil)
	w.sumUp(ctx, w.lab.members)
}

// deleted is the floor of a template's deletion; its binding and revisions are the API
// server's to collect.
func deleted(ctx context.Context, w *writing) {
	w.do(ctx, w.lab.hub, remove, w.templatePath(), "")
	w.leave(ctx, w.lab.members)
}

// choose writes the placement and then the clusters into the binding.
func (w *writing) choose(ctx context.Context, members []*cluster) {
	var clusters []any
	for _, m := range members {
		clusters = append(clusters, map[string]any{"name": m.name})
	}
	w.do(ctx, w.lab.hub, merge, w.bindingPath(), string(encoded(map[string]any{"spec": placementIn(members)})))
	w.do(ctx, w.lab.hub, merge, w.bindingPath(), string(encoded(map[string]any{"spec": map[string]any{"clusters": clusters}})))
}

// leave deletes the Works, the objects, and lets the Works go.
func (w *writing) leave(ctx context.Context, members []*cluster) {
	for _, m := range members {
		w.do(ctx, w.lab.hub, remove, w.workPath(m), "")
	}
	for _, m := range members {
		w.do(ctx, m, remove, w.templatePath(), "")
	}
	for _, m := range members {
		w.do(ctx, w.lab.hub, merge, w.workPath(m), `{"metadata":{"finalizers":null}}`)
	}
}

// sumUp writes the binding's status with what these members say.
func (w *writing) sumUp(ctx context.Context, members []*cluster) {
	t := parsed(w.bindingStatus)
	if all, ok := t.part("status")["aggregatedStatus"].([]any); ok {
		t.part("status")["aggregatedStatus"] = all[:min(len(all), len(members))]
	}
	w.do(ctx, w.lab.hub, put, w.bindingPath()+"/status", w.anew(string(encoded(t))))
}
