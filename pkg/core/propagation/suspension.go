// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"maps"
	"slices"
	"strings"

	placementv1 "sluice.dev/apis/placement/v1"
)

// AnnotationSuspended holds a thing back: "true" in all members, else in those that it
// names, separated by commas. On a placement it holds its Works. On a template it holds
// that alone, whatever its policy says; it stands on the template's binding, too, so
// that it outlives either of them: what one of the two says is in force.
const AnnotationSuspended = "sluice.dev/suspended"

// PlacementSuspended tells whether the annotations of a placement hold its Works
// back in the cluster.
func PlacementSuspended(annotations map[string]string, cluster string) bool {
	all, clusters := ParseSuspended(annotations[AnnotationSuspended])
	return all || slices.Contains(clusters, cluster)
}

// ParseSuspended reads a value of AnnotationSuspended: all members, or some.
func ParseSuspended(value string) (all bool, clusters []string) {
	if value == "true" {
		return true, nil
	}
	return false, slices.DeleteFunc(strings.Split(value, ","), func(c string) bool { return c == "" })
}

// SuspendedIn returns the template's AnnotationSuspended; empty: it has none.
func (t *Template) SuspendedIn() string {
	meta, _ := t.Object["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	value, _ := annotations[AnnotationSuspended].(string)
	return value
}

// SuspendedIn returns the binding's AnnotationSuspended; empty: it has none.
func (b *Binding) SuspendedIn() string { return b.Annotations[AnnotationSuspended] }

// WithSuspendedIn returns a copy of the binding with that AnnotationSuspended; empty:
// without one.
func (b *Binding) WithSuspendedIn(value string) *Binding {
	next := *b
	next.Annotations = maps.Clone(b.Annotations)
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	if next.Annotations[AnnotationSuspended] = value; value == "" {
		delete(next.Annotations, AnnotationSuspended)
	}
	return &next
}

// PlacementKey is the key of a placement, as of any object of the hub.
func PlacementKey(name string) TemplateKey {
	return TemplateKey{APIVersion: placementv1.SchemeGroupVersion.String(), Kind: placementv1.KindClusterResourcePlacement, Name: name}
}
