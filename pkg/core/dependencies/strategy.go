// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package dependencies

import (
	"strings"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Governed returns the dependency's binding with the conflictResolution and
// preserveResourcesOnDeletion of its parents' policies: Overwrite if any of them says
// Overwrite, and true if any of them says true. A binding for which a policy of its own
// is in force keeps that policy's values, and one without living parents keeps what it
// has. The binding itself is returned where nothing changes.
func Governed(b *propagation.Binding, parents []*propagation.Binding) *propagation.Binding {
	if b.Annotations[propagation.AnnotationActivePolicy] != "" || len(parents) == 0 {
		return b
	}
	var overwrite, abort, preserve, drop bool
	for _, p := range parents {
		overwrite, abort = overwrite || overwrites(p), abort || !overwrites(p)
		preserve, drop = preserve || preserves(p), drop || !preserves(p)
	}
	next := clone(b)
	if overwrite != overwrites(b) {
		next.Spec.ConflictResolution = policyv1alpha1.ConflictAbort
		if overwrite {
			next.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
		}
	}
	if preserve != preserves(b) {
		next.Spec.PreserveResourcesOnDeletion = nil
		if preserve {
			next.Spec.PreserveResourcesOnDeletion = new(true)
		}
	}
	var contrary []string
	if overwrite && abort {
		contrary = append(contrary, "ConflictResolution conflicted (Overwrite vs Abort)")
	}
	if preserve && drop {
		contrary = append(contrary, "PreserveResourcesOnDeletion conflicted (true vs false)")
	}
	delete(next.Annotations, propagation.AnnotationPolicyConflict)
	if len(contrary) > 0 {
		next.Annotations[propagation.AnnotationPolicyConflict] = strings.Join(contrary, "; ")
	}
	return done(b, next)
}

// overwrites and preserves: an empty conflictResolution means Abort, and an absent
// preserveResourcesOnDeletion means false.
func overwrites(b *propagation.Binding) bool {
	return b.Spec.ConflictResolution == policyv1alpha1.ConflictOverwrite
}

func preserves(b *propagation.Binding) bool {
	p := b.Spec.PreserveResourcesOnDeletion
	return p != nil && *p
}

// Conflict describes, for people, where the policies of a dependency's parents
// disagree; empty if they agree.
func Conflict(b *propagation.Binding) string {
	if c := b.Annotations[propagation.AnnotationPolicyConflict]; c != "" {
		return "Dependency policy conflict detected: " + c + "."
	}
	return ""
}
