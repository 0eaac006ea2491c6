// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// explainKept explains a template that does not exist, and that members keep because its
// kind was defined anew; false: none does.
func (o *explainOptions) explainKept(ctx context.Context, h *hub.Hub, key propagation.TemplateKey) (bool, error) {
	works, err := h.WorksOf(ctx, propagation.BindingOf(key))
	if err != nil {
		return false, err
	}
	r := explaining.KeptIn(key, works)
	switch {
	case len(r.Clusters) == 0:
		return false, nil
	case o.forMachines():
		return true, o.screen.Encode(o.format, r)
	}
	s := o.screen
	s.Println(s.Paint(screen.Bold, where(key)))
	s.Printf("  %-10s %s\n", "In force", "it does not exist on the hub")
	s.Printf("  %-10s %s: %s\n", "Kept", s.Paint(screen.Warn, r.Clusters[0].Reason), r.Clusters[0].Message)
	s.Println("\nClusters")
	rows := make([][]screen.Cell, len(r.Clusters))
	for i, c := range r.Clusters {
		rows[i] = []screen.Cell{screen.Text(c.Name), {Text: string(c.State), Paint: statePaints[c.State]}, screen.Text(c.Health)}
	}
	s.Table("  ", screen.Columns("CLUSTER", "STATE", "HEALTH"), rows, false)
	return true, nil
}
