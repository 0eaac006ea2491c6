// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
)

// showRuns says which runs of staged updates there are, or what became of the last.
func (o *explainOptions) showRuns(r explaining.PlacementReport) {
	for _, run := range r.Runs {
		o.screen.Printf("Run         %s (%s): %s\n", run.Name, run.Reason, run.Message)
	}
	switch last := r.LastRun; {
	case !r.External || len(r.Runs) > 0:
	case last == nil:
		o.screen.Println("Run         none: a ClusterStagedUpdateRun gives clusters the newest snapshot")
	case last.Succeeded:
		o.screen.Printf("Run         none: the last, %s, succeeded; another ClusterStagedUpdateRun gives clusters the newest snapshot\n", last.Name)
	default:
		o.screen.Printf("Run         %s has ended (%s): %s\n", last.Name, last.Reason, last.Message)
	}
}

func (o *explainOptions) showEvictions(r explaining.PlacementReport) {
	for _, e := range r.Evictions {
		if e.Condition == "" {
			o.screen.Printf("Eviction    %s of %s: nobody has looked at it yet\n", e.Name, e.Cluster)
			continue
		}
		o.screen.Printf("Eviction    %s of %s: %s %s (%s): %s\n", e.Name, e.Cluster, e.Condition, e.Status, e.Reason, e.Message)
	}
}

// fewObjects is how many objects are shown, unless all are requested.
const fewObjects = 10

// showObjects shows objects in members. A table of four columns has no reasons.
func (o *explainOptions) showObjects(title string, columns []screen.Column, all []explaining.PlacementObject) {
	if len(all) == 0 {
		return
	}
	shown := all
	if !o.wide() && len(all) > fewObjects {
		shown = all[:fewObjects]
	}
	rows := make([][]screen.Cell, 0, len(shown))
	for _, p := range shown {
		row := []screen.Cell{screen.Text(p.Cluster), screen.Text(p.Object.Namespace), screen.Text(refOf(p.Object))}
		if len(columns) > len(row)+1 {
			row = append(row, screen.Cell{Text: p.Reason, Paint: screen.Bad})
		}
		rows = append(rows, append(row, screen.Text(p.Message)))
	}
	o.screen.Println(title)
	o.screen.Table("  ", columns, rows, o.wide())
	if n := len(all) - len(shown); n > 0 {
		o.screen.Printf("  and %d more (-o wide lists them)\n", n)
	}
}
