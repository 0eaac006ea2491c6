// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"
	"strings"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// explainGone explains a template that does not exist, and of which members still have
// objects: they keep them because its kind was defined anew, or the objects are being
// removed; false: there are none.
func (o *explainOptions) explainGone(ctx context.Context, h *hub.Hub, key propagation.TemplateKey) (bool, error) {
	works, err := h.WorksOf(ctx, propagation.BindingOf(key))
	if err != nil {
		return false, installed(err)
	}
	r := explaining.Gone(key, works)
	switch {
	case len(r.Clusters) == 0:
		return false, nil
	case o.forMachines():
		return true, o.screen.Encode(o.format, r)
	}
	s := o.screen
	s.Println(s.Paint(screen.Bold, where(key)))
	s.Printf("  %-10s %s\n", "In force", "it does not exist on the hub")
	if i := slices.IndexFunc(r.Clusters, func(c explaining.Cluster) bool { return c.State == explaining.Kept }); i >= 0 {
		s.Printf("  %-10s %s: %s\n", "Kept", s.Paint(screen.Warn, r.Clusters[i].Reason), r.Clusters[i].Message)
	}
	s.Println("\nClusters")
	rows := make([][]screen.Cell, len(r.Clusters))
	for i, c := range r.Clusters {
		why := ""
		if c.State == explaining.Leaving {
			why = strings.Join(nonEmpty(c.Reason, c.Message), ": ")
		}
		rows[i] = []screen.Cell{screen.Text(c.Name), {Text: string(c.State), Paint: statePaints[c.State]}, screen.Text(c.Health), screen.Text(why)}
	}
	s.Table("  ", screen.Columns("CLUSTER", "STATE", "HEALTH", "WHY"), rows, false)
	return true, nil
}
