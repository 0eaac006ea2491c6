// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"cmp"
	"slices"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// GoneReport says which members still have objects of a template that does not exist:
// those that keep what went with a former definition of its kind, and those that it is
// being removed from.
type GoneReport struct {
	Template propagation.TemplateKey `json:"template"`
	Clusters []Cluster               `json:"clusters"`
}

// Gone returns the report about a template that does not exist, from the Works that
// there are of it.
func Gone(key propagation.TemplateKey, works []*propagation.Work) GoneReport {
	r := GoneReport{Template: key}
	for _, w := range works {
		switch kept := applying.Kept(w); {
		case w.Deleting:
			r.Clusters = append(r.Clusters, leaving(w))
		case kept != nil:
			r.Clusters = append(r.Clusters, Cluster{Name: w.Key.Cluster, State: Kept, Health: health(w), Reason: kept.Reason, Message: kept.Message})
		}
	}
	slices.SortFunc(r.Clusters, func(x, y Cluster) int { return cmp.Compare(x.Name, y.Name) })
	return r
}
