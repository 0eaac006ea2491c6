// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"cmp"
	"slices"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// KeptReport says which members keep what went with a former definition of its kind.
type KeptReport struct {
	Template propagation.TemplateKey `json:"template"`
	Clusters []Cluster               `json:"clusters"`
}

// KeptIn returns the report about a template that does not exist, from the Works that
// there are of it.
func KeptIn(key propagation.TemplateKey, works []*propagation.Work) KeptReport {
	r := KeptReport{Template: key}
	for _, w := range works {
		if c := applying.Kept(w); c != nil && !w.Deleting {
			r.Clusters = append(r.Clusters, Cluster{Name: w.Key.Cluster, State: Kept, Health: health(w), Reason: c.Reason, Message: c.Message})
		}
	}
	slices.SortFunc(r.Clusters, func(x, y Cluster) int { return cmp.Compare(x.Name, y.Name) })
	return r
}
