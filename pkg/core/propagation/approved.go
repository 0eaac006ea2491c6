// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"maps"
	"slices"
	"strings"
)

// mostApproved is how many approvals a Work keeps; the oldest go first.
const mostApproved = 20

// Approves reports whether a person approved the removal.
func (w *Work) Approves(approval string) bool { return slices.Contains(w.approvals(), approval) }

// Approving returns a copy of the Work with the approval added.
func (w *Work) Approving(approval string) *Work {
	all := append(slices.DeleteFunc(w.approvals(), func(a string) bool { return a == "" || a == approval }), approval)
	next := *w
	next.Annotations = maps.Clone(w.Annotations)
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[AnnotationApproved] = strings.Join(all[max(0, len(all)-mostApproved):], ",")
	return &next
}

func (w *Work) approvals() []string { return strings.Split(w.Annotations[AnnotationApproved], ",") }
