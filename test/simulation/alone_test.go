// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"strings"

	"sluice.dev/pkg/core/propagation"
)

// One template is suspended by itself, whatever its policy says: people do that on the
// template, and the command on its binding, too. What people say on one of the two holds.

const (
	pauseOne  verb = "suspend by itself"
	resumeOne verb = "resume by itself"
)

// pauses is a suspension of one template, which ends some time later or never.
func (d drawer) pauses() []op {
	pause := op{verb: pauseOne, key: pick(d, templates), cluster: pick(d, clusters), n: d.IntN(3)}
	if d.chance(40) {
		return []op{pause}
	}
	resume := pause
	resume.verb = resumeOne
	return []op{pause, {verb: deliver, n: 1 + d.IntN(60), seed: d.Uint64() | 1}, resume}
}

// byItself suspends a template, in one cluster or (n > 0) in all of them, or resumes it.
func (w *world) byItself(o op) bool {
	if w.hub.Live(o.key) == nil {
		return false
	}
	value := ""
	if o.verb == pauseOne {
		if value = o.cluster; o.n > 0 {
			value = "true"
		}
	}
	did := w.hub.Apply(o.key, func(obj map[string]any) {
		meta := obj["metadata"].(map[string]any)
		was, _ := meta["annotations"].(map[string]any)
		annotations := maps.Clone(was)
		if annotations == nil {
			annotations = map[string]any{}
		}
		if annotations[propagation.AnnotationSuspended] = value; value == "" {
			delete(annotations, propagation.AnnotationSuspended)
		}
		if meta["annotations"] = annotations; len(annotations) == 0 {
			delete(meta, "annotations")
		}
	})
	if b := w.bindingOf(o.key); b != nil && (o.verb == resumeOne || o.n%2 == 0) {
		did = w.hub.AnnotateBinding(b.Key, propagation.AnnotationSuspended, value) || did
	}
	return did
}

// suspendedAlone tells whether people suspended the template by itself in the cluster.
func suspendedAlone(t *propagation.Template, b *propagation.Binding, cluster string) bool {
	if t == nil {
		return false
	}
	for _, said := range []string{t.SuspendedIn(), b.SuspendedIn()} {
		if said == "true" || slices.Contains(strings.Split(said, ","), cluster) {
			return true
		}
	}
	return false
}
