// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/core/reporting"
)

// summary is one line about a template.
type summary struct {
	propagation.TemplateKey
	// Policy that holds it, as pp/NAME or cpp/NAME; empty: none does.
	Policy string `json:"policy,omitempty"`
	// Follows: it goes where the templates go that refer to it.
	Follows  bool     `json:"follows,omitempty"`
	Clusters []string `json:"clusters"`
	// Applied and Available count clusters.
	Applied   int `json:"applied"`
	Available int `json:"available"`
	// Pending says why a change waits, or cannot be rendered; empty: none does.
	Pending string `json:"pending,omitempty"`
	// Suspended says in which clusters dispatching is suspended: "none", "all", or
	// names.
	Suspended string `json:"suspended"`
	// Failed: not scheduled, or rejected by a member.
	Failed bool `json:"failed,omitempty"`
	// Revision and Generation are the content and the policy in force.
	Revision   string    `json:"revision,omitempty"`
	Generation string    `json:"policyGeneration,omitempty"`
	Message    string    `json:"message,omitempty"`
	Created    time.Time `json:"created,omitzero"`

	binding propagation.BindingKey
}

func summaryOf(b *propagation.Binding) summary {
	g := summary{
		TemplateKey: b.Template(), binding: b.Key,
		Clusters: b.TargetClusters(), Suspended: explaining.Suspended(b.Spec.Suspension), Follows: len(b.Spec.RequiredBy) > 0,
		Revision: b.Revision(), Generation: b.Annotations[propagation.AnnotationActiveGeneration],
	}
	if c := b.Claim(); c.Held() {
		g.Policy = policyRef(c.Policy)
	}
	targets := map[string]bool{}
	for _, name := range g.Clusters {
		targets[name] = true
	}
	for _, a := range b.Status.AggregatedStatus {
		if !targets[a.ClusterName] {
			continue
		}
		if a.Applied {
			g.Applied++
		}
		if a.Health == workv1alpha2.ResourceHealthy {
			g.Available++
		}
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, gating.ConditionActive); c != nil && c.Status == metav1.ConditionFalse {
		g.Pending, g.Message = c.Reason, c.Message
	}
	if c := meta.FindStatusCondition(b.Status.Conditions, rendering.ConditionRendered); g.Pending == "" && reporting.Unrendered(b) {
		g.Pending = c.Reason // Failure has its message
	}
	if failure, failed := explaining.Failure(b); failed {
		g.Failed, g.Message = true, failure.Message
	}
	return g
}

// summaryOfTemplate returns the summary of a template that has no binding, or whose
// binding's name is another's: nothing is in force. Whether that was always so is told
// by explain.
func summaryOfTemplate(t *propagation.Template) summary {
	g := summary{
		TemplateKey: t.Key, binding: propagation.BindingOf(t.Key), Created: t.Created, Suspended: "none",
		Message: "no policy holds it, and nothing is in force",
	}
	if t.Claim.Held() {
		g.Policy, g.Pending = policyRef(t.Claim.Policy), "Unknown"
		g.Message = "nothing is in force; only who may read the policies is told why"
	}
	return g
}

func summaryColumns(all bool) []screen.Column {
	columns := screen.Columns("KIND", "NAME", "POLICY", "CLUSTERS", "APPLIED", "AVAILABLE", "PENDING", "SUSPENDED", "AGE")
	columns = append(columns, screen.Column{Title: "REVISION", Wide: true}, screen.Column{Title: "GENERATION", Wide: true}, screen.Column{Title: "MESSAGE", Wide: true})
	if all {
		return append(screen.Columns("NAMESPACE"), columns...)
	}
	return columns
}

// fewClusters is how many clusters a line names, unless all are requested.
const fewClusters = 3

func summaryRows(lines []summary, all, wide bool) [][]screen.Cell {
	rows := make([][]screen.Cell, 0, len(lines))
	for _, g := range lines {
		limit := fewClusters
		if wide {
			limit = len(g.Clusters)
		}
		row := []screen.Cell{
			screen.Text(g.Kind), screen.Text(g.Name), g.policyCell(), screen.Text(some(g.Clusters, limit)),
			g.progressCell(g.Applied), g.progressCell(g.Available), pendingCell(g.Pending), suspendedCell(g.Suspended),
			screen.Text(age(g.Created)), screen.Text(g.Revision), screen.Text(g.Generation), screen.Text(g.Message),
		}
		if all {
			row = append([]screen.Cell{screen.Text(g.Namespace)}, row...)
		}
		rows = append(rows, row)
	}
	return rows
}

func (g summary) policyCell() screen.Cell {
	switch {
	case g.Policy != "":
		return screen.Text(g.Policy)
	case g.Follows:
		return screen.Cell{Text: "<follows>", Paint: screen.Dim}
	}
	return screen.Cell{Text: "<none>", Paint: screen.Warn}
}

func (g summary) progressCell(n int) screen.Cell {
	c := screen.Cell{Text: fmt.Sprintf("%d/%d", n, len(g.Clusters)), Paint: screen.Warn}
	switch {
	case g.Failed:
		c.Paint = screen.Bad
	case n == len(g.Clusters) && n > 0:
		c.Paint = screen.Good
	}
	return c
}

func pendingCell(reason string) screen.Cell {
	if reason == "" {
		return screen.Text("")
	}
	return screen.Cell{Text: reason, Paint: screen.Warn}
}

func suspendedCell(which string) screen.Cell {
	if which == "none" {
		return screen.Text("")
	}
	return screen.Cell{Text: which, Paint: screen.Warn}
}
