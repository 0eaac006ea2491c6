// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/types"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
)

// What is kept of a template's content is checked when it is used (Z6), and at
// rest nobody uses it: nothing watches it, and no sweep reads it. So what people
// meddled with lies there as they left it, until something has it rendered.

// meddle makes the kept content that is in force for a template anew, or deletes
// it, as an editor of the namespace may.
func (w *world) meddle(o op) {
	b := w.bindingOf(o.key)
	if b == nil || b.Revision() == "" {
		return
	}
	w.meddled[b.Key] = true
	if o.verb == loseContent {
		w.hub.LoseRevision(b, b.Revision())
		return
	}
	w.hub.ForgeRevision(b, b.Revision(), func(obj map[string]any) map[string]any {
		meta := obj["metadata"].(map[string]any)
		switch o.n {
		case 0:
			obj["apiVersion"], obj["kind"] = "rbac.authorization.k8s.io/v1", "ClusterRoleBinding"
			delete(meta, "namespace")
		case 1:
			meta["namespace"] = "kube-system"
		case 2:
			set(meta, "annotations", "example.com/note", "forged")
		default:
			return nil
		}
		return obj
	})
}

// useKept has the bindings rendered whose kept content people meddled with, as a
// change of an override would.
func (w *world) useKept() {
	for _, b := range w.hub.LiveBindings() {
		if !w.meddled[b.Key] {
			continue
		}
		cause := event.New()
		cause.SetID(fmt.Sprintf("use-%d", w.now.UnixNano()))
		cause.SetSource("/simulation")
		out, template := events.From("simulation", cause), b.Template()
		out.Emit(events.BindingScheduled, events.Data{Template: &template, Binding: &b.Key, Reason: "OverridesChanged"})
		used, err := out.Events()
		if err != nil {
			w.fail("have %s rendered: %v", b.Key, err)
			return
		}
		w.publish(used[0])
	}
}

// keptContent is a content that was kept for a binding, by the product's hash.
type keptContent struct {
	uid  types.UID
	hash string
}

func (w *world) neverKept(b *propagation.Binding) bool {
	return !w.frozen[keptContent{b.UID, b.ActedHash()}]
}

// keptNoMore tells whether the content that is in force for a binding cannot be
// kept again: people meddled with it, or a process ended between the first binding of
// the template and its content, and the template says it no more.
func (w *world) keptNoMore(b *propagation.Binding) bool {
	if !w.meddled[b.Key] && !w.neverKept(b) {
		return false
	}
	t := w.hub.Live(b.Template())
	return t == nil || t.UID != b.Spec.Resource.UID || contentOf(t.Object) != w.safety.contents.of(b.ActedHash())
}
