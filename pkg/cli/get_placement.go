// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// ofPlacements reports whether placements are requested.
func (o *getOptions) ofPlacements() bool {
	if o.kind == nil {
		return false
	}
	gvk := o.kind.GroupVersionKind
	_, yes := hub.PlacementKeyOf(propagation.TemplateKey{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: "x"})
	return yes
}

// placements shows the requested placements.
func (o *getOptions) placements(ctx context.Context, h *hub.Hub) error {
	lines, err := o.placementLines(ctx, h)
	if err != nil {
		return err
	}
	switch o.format {
	case formatName:
		for _, g := range lines {
			o.screen.Println("clusterresourceplacement." + placementv1.GroupName + "/" + g.Name)
		}
		return nil
	case formatJSON, formatYAML:
		if o.name != "" {
			return o.screen.Encode(o.format, lines[0])
		}
		return o.screen.Encode(o.format, map[string]any{"items": lines})
	}
	if len(lines) == 0 {
		if o.selectorArg != "" {
			o.screen.Note("No placement has the labels %s.", o.selectorArg)
			return nil
		}
		o.screen.Note("There is no placement.")
		return nil
	}
	o.placementTable(lines)
	return nil
}

func (o *getOptions) placementLines(ctx context.Context, h *hub.Hub) ([]explaining.PlacementSummary, error) {
	if o.name != "" {
		key := propagation.PlacementKey(o.name)
		p, err := h.Placement(ctx, o.name)
		if err != nil {
			return nil, notFound(key, err)
		}
		return []explaining.PlacementSummary{explaining.SummaryOfPlacement(p)}, nil
	}
	all, err := h.Placements(ctx)
	if err != nil {
		return nil, err
	}
	lines := []explaining.PlacementSummary{}
	for _, p := range all {
		if !o.selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		lines = append(lines, explaining.SummaryOfPlacement(p))
	}
	return lines, nil
}

// beside shows the placements after the templates, if there are any that the user may
// see, and reports whether there are.
func (o *getOptions) beside(ctx context.Context, h *hub.Hub, after bool) (bool, error) {
	lines, err := o.placementLines(ctx, h)
	switch {
	case errors.Is(err, outcome.ErrNotServed), apierrors.IsForbidden(err), err == nil && len(lines) == 0:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("list placements: %w", err)
	}
	if after {
		o.screen.Println("")
	}
	o.placementTable(lines)
	return true, nil
}

func (o *getOptions) placementTable(lines []explaining.PlacementSummary) {
	o.screen.Table("", placementColumns(), o.placementRows(lines), o.wide())
}

func placementColumns() []screen.Column {
	return append(screen.Columns("PLACEMENT", "OBJECTS", "SNAPSHOT", "CLUSTERS", "APPLIED", "AVAILABLE", "PENDING", "SUSPENDED", "AGE"), screen.Column{Title: "MESSAGE", Wide: true})
}

func (o *getOptions) placementRows(lines []explaining.PlacementSummary) [][]screen.Cell {
	rows := make([][]screen.Cell, 0, len(lines))
	for _, g := range lines {
		limit := fewClusters
		if o.wide() {
			limit = len(g.Clusters)
		}
		snapshot := g.Snapshot
		if g.RolledBack != "" {
			snapshot += " (rolled back)"
		}
		rows = append(rows, []screen.Cell{
			screen.Text(g.Name), screen.Text(strconv.Itoa(g.Selected)), screen.Text(snapshot), screen.Text(some(g.Clusters, limit)),
			partCell(g.Applied, len(g.Clusters)), partCell(g.Available, len(g.Clusters)), pendingCell(g.Pending), suspendedCell(g.Suspended),
			screen.Text(age(g.Created)), screen.Text(g.Message),
		})
	}
	return rows
}

// partCell shows n out of of.
func partCell(n, of int) screen.Cell {
	c := screen.Cell{Text: fmt.Sprintf("%d/%d", n, of), Paint: screen.Warn}
	if n == of && n > 0 {
		c.Paint = screen.Good
	}
	return c
}
