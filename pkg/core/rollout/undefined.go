// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	placementv1 "sluice.dev/apis/placement/v1"
)

const (
	// AnnotationOverridesMade on a binding is when the newest of the snapshots of overrides
	// was made that it names: what the hub defined later knows none of their overrides.
	AnnotationOverridesMade = "sluice.dev/overrides-made"
	// AnnotationUndefined on a binding lists the overrides that it names and that nobody
	// deleted: they went with the definition of their kind.
	AnnotationUndefined = "sluice.dev/overrides-undefined"
)

// Undefined is what is said of a member whose binding names overrides that nobody deleted, as
// Went lists them; empty: it names none.
func Undefined(overrides string) string {
	if overrides == "" {
		return ""
	}
	return fmt.Sprintf("overrides (%s) went with the definition of their kind, and nobody deleted them: the cluster keeps what it has; apply them again, or apply them and delete them", overrides)
}

// Went lists overrides, as AnnotationUndefined does.
func Went(overrides []string) string {
	overrides = slices.Clone(overrides)
	slices.Sort(overrides)
	if rest := len(overrides) - maxNamed; rest > 0 {
		overrides = append(overrides[:maxNamed], fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(overrides, ", ")
}

// Named are the snapshots of overrides that the binding names; those without a namespace
// are of overrides without one.
func Named(b *placementv1.ClusterResourceBinding) []types.NamespacedName {
	var all []types.NamespacedName
	for _, name := range b.Spec.ClusterResourceOverrideSnapshots {
		all = append(all, types.NamespacedName{Name: name})
	}
	for _, of := range b.Spec.ResourceOverrideSnapshots {
		all = append(all, types.NamespacedName{Namespace: of.Namespace, Name: of.Name})
	}
	return all
}

// OverrideOf is the override of a snapshot.
func OverrideOf(snapshot types.NamespacedName) types.NamespacedName {
	if i := strings.LastIndex(snapshot.Name, "-"); i > 0 {
		if _, err := strconv.Atoi(snapshot.Name[i+1:]); err == nil {
			snapshot.Name = snapshot.Name[:i]
		}
	}
	return snapshot
}

// WentUndefined reports whether an override that is missing, and that the binding names,
// went with a former definition of its kind, where the present one was made at defined: it
// is older. Where nobody noted when it was made, somebody may have deleted it.
func WentUndefined(b *placementv1.ClusterResourceBinding, defined time.Time) bool {
	made, err := time.Parse(time.RFC3339, b.Annotations[AnnotationOverridesMade])
	return err == nil && defined.After(made)
}

// keeps tells whether the member's overrides went with the definition of their kind, so
// that it keeps what it has: what it would be without them, nobody asked for.
func (p *planner) keeps(s *subject) bool {
	return s.old != nil && Given(s.old) && p.Undefined[s.cluster] != ""
}

// date notes when the newest of the overrides was made that the binding names; true: that
// was not noted yet.
func (p *planner) date(next *placementv1.ClusterResourceBinding) bool {
	if next.Annotations[AnnotationOverridesMade] != "" {
		return false
	}
	var newest time.Time
	for _, name := range Named(next) {
		if at := p.Made[name]; at.After(newest) {
			newest = at
		}
	}
	if newest.IsZero() {
		return false
	}
	annotate(next, AnnotationOverridesMade, newest.UTC().Format(time.RFC3339))
	return true
}

// miss says on the binding which of its overrides nobody deleted; false: it says so already.
func (p *planner) miss(next *placementv1.ClusterResourceBinding) bool {
	went := p.Undefined[next.Spec.TargetCluster]
	if went == next.Annotations[AnnotationUndefined] {
		return false
	}
	annotate(next, AnnotationUndefined, went)
	if went == "" {
		delete(next.Annotations, AnnotationUndefined)
	}
	return true
}
