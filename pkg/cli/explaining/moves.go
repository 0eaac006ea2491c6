// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling"
)

// Moves is what happens to the clusters of a template. All lists are sorted.
type Moves struct {
	Leave  []string `json:"leave,omitempty"`
	Join   []string `json:"join,omitempty"`
	Change []string `json:"change,omitempty"`
	// Held are those of the clusters above in which dispatching is suspended: nothing
	// happens there until it is resumed.
	Held []string `json:"held,omitempty"`
	// Unknown says why the clusters are not known.
	Unknown string `json:"unknown,omitempty"`
}

// None reports whether nothing happens in any cluster.
func (m Moves) None() bool {
	return len(m.Leave)+len(m.Join)+len(m.Change) == 0 && m.Unknown == ""
}

// String returns the moves for people: "leaves member1; joins member2".
func (m Moves) String() string {
	if m.None() {
		return "no cluster changes"
	}
	var parts []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"leaves", m.Leave}, {"joins", m.Join}, {"changes in", m.Change}} {
		if len(p.names) > 0 {
			parts = append(parts, p.what+" "+strings.Join(p.names, ", "))
		}
	}
	if m.Unknown != "" {
		parts = append(parts, m.Unknown)
	}
	if len(m.Held) > 0 {
		parts = append(parts, "held back in "+strings.Join(m.Held, ", "))
	}
	return strings.Join(parts, "; ")
}

// WithRequest returns the binding with a person's request to let the policy of in take
// effect as it is: the present binding or, if there is none, a new one.
func WithRequest(in gating.Input) *propagation.Binding {
	b := propagation.Binding{Key: propagation.BindingOf(in.Template.Key)}
	if in.Binding != nil {
		b = *in.Binding
	} else {
		k := in.Template.Key
		r := &b.Spec.Resource
		r.APIVersion, r.Kind, r.Namespace, r.Name, r.UID = k.APIVersion, k.Kind, k.Namespace, k.Name, in.Template.UID
	}
	b.Labels, b.Annotations = maps.Clone(b.Labels), maps.Clone(b.Annotations)
	if b.Labels == nil {
		b.Labels = map[string]string{}
	}
	if b.Annotations == nil {
		b.Annotations = map[string]string{}
	}
	labels, annotations := in.Policy.Claim().Metadata()
	put(b.Labels, labels)
	put(b.Annotations, annotations)
	b.Annotations[propagation.AnnotationActivate] = gating.ActivationOf(in.Policy)
	return &b
}

func put(m map[string]string, values map[string]*string) {
	for k, v := range values {
		if v != nil {
			m[k] = *v
		} else {
			delete(m, k)
		}
	}
}

// Released returns the binding after the pending change has taken effect. The policy of
// in must not be nil.
func Released(in gating.Input) *propagation.Binding {
	in.Binding = WithRequest(in)
	return gating.Decide(in).Next
}

// moves compares the clusters of a binding (nil: none) with those that it has once it
// is next.
func (w World) moves(b, next *propagation.Binding) Moves {
	if s := next.ForeignScheduler(); s != "" {
		return Moves{Unknown: "scheduler " + s + " chooses the clusters"}
	}
	before, replicas, content := []string(nil), map[string]int32{}, ""
	if b != nil {
		before, content = b.TargetClusters(), b.ActedHash()
		for _, c := range b.Spec.Clusters {
			replicas[c.Name] = c.Replicas
		}
	}
	d := scheduling.Decide(scheduling.Input{Binding: next, Clusters: w.Clusters})
	scheduled := *next
	scheduled.Spec.Clusters = d.Targets
	after := scheduled.TargetClusters()
	var m Moves
	if d.Unschedulable {
		m.Unknown = fmt.Sprintf("cannot be scheduled: %s", d.Condition.Message)
	}
	for _, name := range before {
		if !slices.Contains(after, name) {
			m.Leave = append(m.Leave, name)
		}
	}
	now := map[string]int32{}
	for _, c := range d.Targets {
		now[c.Name] = c.Replicas
	}
	rewritten := content != next.ActedHash() || b != nil && b.Spec.ConflictResolution != next.Spec.ConflictResolution
	for _, name := range after {
		switch {
		case !slices.Contains(before, name):
			m.Join = append(m.Join, name)
		case rewritten || replicas[name] != now[name]:
			m.Change = append(m.Change, name)
		}
	}
	for _, name := range slices.Sorted(slices.Values(slices.Concat(m.Leave, m.Join, m.Change))) {
		if scheduled.SuspendedOn(name) {
			m.Held = append(m.Held, name)
		}
	}
	return m
}
