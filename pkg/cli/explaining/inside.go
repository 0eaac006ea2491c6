// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
)

// Inside returns, by cluster, the removals that are held because objects of others
// would be deleted with the object.
func Inside(works []*propagation.Work) []Removal {
	var out []Removal
	for _, w := range works {
		if w.Key.Form == propagation.PlacementForm {
			out = append(out, placedInside(w)...)
			continue
		}
		c := meta.FindStatusCondition(w.Status.Conditions, workv1alpha1.ConditionApplied)
		template, err := w.Template()
		if err == nil && w.Deleting && c != nil && c.Reason == string(applying.ReasonHoldsOthers) && !w.Approves(applying.Approval(c.Message)) {
			out = append(out, Removal{Cluster: w.Key.Cluster, Template: template, Since: c.LastTransitionTime.Time, Why: c.Message, Inside: &w.Key})
		}
	}
	slices.SortFunc(out, order)
	return out
}

func placedInside(w *propagation.Work) []Removal {
	var out []Removal
	for _, r := range w.Results {
		why := telling.HoldsOthers(r)
		if why == "" || w.Approves(applying.Approval(why)) {
			continue
		}
		i := r.Identifier
		template := propagation.TemplateKey{APIVersion: strings.TrimPrefix(i.Group+"/"+i.Version, "/"), Kind: i.Kind, Namespace: i.Namespace, Name: i.Name}
		out = append(out, Removal{Cluster: w.Key.Cluster, Template: template, Since: meta.FindStatusCondition(r.Conditions, workv1alpha1.ConditionApplied).LastTransitionTime.Time, Why: why, Inside: &w.Key})
	}
	return out
}
