// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"maps"
	"slices"
	"strings"

	placementv1 "sluice.dev/apis/placement/v1"
)

// AnnotationSuspended suspends dispatching: "true" in all members, otherwise in those
// that it names, separated by commas. On a placement it suspends that placement's
// Works. On a template it suspends this template only, whatever its policy says. It is
// then on the template's binding, too, so that it survives the deletion of either; a
// suspension on one of the two suffices.
const AnnotationSuspended = "sluice.dev/suspended"

// PlacementSuspended reports whether the annotations of a placement suspend its Works
// in the cluster.
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

// PlacementKey returns the key of a placement as an object of the hub.
func PlacementKey(name string) TemplateKey {
	return TemplateKey{APIVersion: placementv1.SchemeGroupVersion.String(), Kind: placementv1.KindClusterResourcePlacement, Name: name}
}
