// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// seenRow is one line as it was last shown.
type seenRow struct {
	id string
	// says is the content of the line except its age: the line is printed again if it
	// changes.
	says  string
	cells []screen.Cell
	ref   string
	value any
}

// watcher shows the lines of one table that changed.
type watcher struct {
	*getOptions
	placements bool
	grid       *screen.Grid
	seen       map[string]seenRow
}

// follow prints the present lines, and then each line that changed, until ctx ends,
// which is the normal end and no error. Watches tell when to read, and what is shown is
// read from their caches.
func (o *getOptions) follow(ctx context.Context, h *hub.Hub) error {
	changed := make(chan struct{}, 1)
	tables, err := o.watchers(ctx, h, func(hub.Change) {
		select {
		case changed <- struct{}{}:
		default: // it is going to read anyway
		}
	})
	if err != nil {
		return err
	}
	var last *watcher
	for {
		for _, w := range tables {
			rows, err := w.news(ctx, h)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				return err
			case len(rows) == 0:
				continue
			}
			if err := w.print(rows, last); err != nil {
				return err
			}
			last = w
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// watchers starts the watches that the lines depend on, and returns the tables to show.
func (o *getOptions) watchers(ctx context.Context, h *hub.Hub, told func(hub.Change)) ([]*watcher, error) {
	placementGVK := placementv1.SchemeGroupVersion.WithKind(placementv1.KindClusterResourcePlacement)
	of := func(columns []screen.Column, placements bool) *watcher {
		return &watcher{getOptions: o, placements: placements, grid: o.screen.Grid("", columns, o.wide()), seen: map[string]seenRow{}}
	}
	if o.ofPlacements() {
		return []*watcher{of(placementColumns(), true)}, h.Watch(ctx, placementGVK, told)
	}
	var kinds []schema.GroupVersionKind
	for _, scope := range propagation.Scopes {
		kinds = append(kinds, bindingKind(scope))
	}
	if o.kind != nil { // templates that were never propagated have no binding
		kinds = append(kinds, o.kind.GroupVersionKind)
	}
	for _, gvk := range kinds {
		if err := h.Watch(ctx, gvk, told); err != nil {
			if apierrors.IsForbidden(err) {
				err = fmt.Errorf("%w: -w watches every namespace, without it one is enough", err)
			}
			return nil, installed(err)
		}
	}
	tables := []*watcher{of(summaryColumns(o.all), false)}
	if o.kind != nil {
		return tables, nil
	}
	switch err := h.Watch(ctx, placementGVK, told); {
	case errors.Is(err, outcome.ErrNotServed), apierrors.IsForbidden(err):
		return tables, nil // as in the list
	case err != nil:
		return nil, err
	}
	return append(tables, of(placementColumns(), true)), nil
}

// news returns the rows that changed since they were last shown. One that is gone is
// shown a last time, marked as such.
func (w *watcher) news(ctx context.Context, h *hub.Hub) ([]seenRow, error) {
	now, err := w.rows(ctx, h)
	if err != nil {
		return nil, err
	}
	var out []seenRow
	there := map[string]bool{}
	for _, r := range now {
		there[r.id] = true
		if w.seen[r.id].says != r.says {
			out = append(out, r)
		}
		w.seen[r.id] = r
	}
	var gone []seenRow
	for id, r := range w.seen {
		if !there[id] {
			delete(w.seen, id)
			r.cells = slices.Clone(r.cells)
			r.cells[w.column("PENDING")] = screen.Cell{Text: "<gone>", Paint: screen.Dim}
			gone = append(gone, r)
		}
	}
	slices.SortFunc(gone, func(a, b seenRow) int { return cmp.Compare(a.id, b.id) })
	return append(out, gone...), nil
}

// rows returns all lines as they are now. An object that is named need not exist.
func (w *watcher) rows(ctx context.Context, h *hub.Hub) ([]seenRow, error) {
	var out []seenRow
	if w.placements {
		lines, err := w.placementLines(ctx, h)
		if err != nil {
			return nil, w.unlessGone(err)
		}
		for i, cells := range w.placementRows(lines) {
			out = append(out, w.row(lines[i].Name, cells, fullRef(propagation.PlacementKey(lines[i].Name)), lines[i]))
		}
		return out, nil
	}
	lines, err := w.lines(ctx, h)
	if err != nil {
		return nil, w.unlessGone(err)
	}
	for i, cells := range summaryRows(lines, w.all, w.wide()) {
		out = append(out, w.row(lines[i].ID(), cells, fullRef(lines[i].TemplateKey), lines[i]))
	}
	return out, nil
}

// unlessGone returns nil if the named object was shown before and is gone now.
func (w *watcher) unlessGone(err error) error {
	if len(w.seen) > 0 && errors.Is(err, errNotFound) {
		return nil
	}
	return err
}

func (w *watcher) row(id string, cells []screen.Cell, ref string, value any) seenRow {
	var says strings.Builder
	for i, c := range cells {
		if i != w.column("AGE") {
			says.WriteString(c.Text + "\x00")
		}
	}
	return seenRow{id: id, says: says.String(), cells: cells, ref: ref, value: value}
}

func (w *watcher) column(title string) int {
	columns := summaryColumns(w.all)
	if w.placements {
		columns = placementColumns()
	}
	return slices.IndexFunc(columns, func(c screen.Column) bool { return c.Title == title })
}

// print writes rows under titles, unless the previous row is of the same table.
func (w *watcher) print(rows []seenRow, last *watcher) error {
	var cells [][]screen.Cell
	for _, r := range rows {
		switch {
		case w.format == formatName:
			w.screen.Println(r.ref)
		case w.forMachines():
			if w.format == formatYAML {
				w.screen.Println("---")
			}
			if err := w.screen.Encode(w.format, r.value); err != nil {
				return err
			}
		default:
			cells = append(cells, r.cells)
		}
	}
	if cells == nil {
		return nil
	}
	w.grid.Fit(cells)
	if last != w {
		if last != nil {
			w.screen.Println("")
		}
		w.grid.Titles()
	}
	w.grid.Rows(cells)
	return nil
}
