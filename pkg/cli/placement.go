// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rollout"
	"sluice.dev/pkg/core/rollout/staged"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// placed reads a placement with its snapshots and bindings.
func placed(ctx context.Context, h *hub.Hub, key propagation.TemplateKey) (explaining.Placed, error) {
	var p explaining.Placed
	var err error
	if p.Placement, err = h.Placement(ctx, key.Name); err != nil {
		return p, notFound(key, err)
	}
	if p.Policies, err = h.PolicySnapshotsOf(ctx, key.Name); err != nil {
		return p, err
	}
	if p.Snapshots, err = h.ResourceSnapshotsOf(ctx, key.Name); err != nil {
		return p, err
	}
	if p.Bindings, err = h.PlacementBindingsOf(ctx, key.Name); err != nil {
		return p, err
	}
	p.Clusters, err = h.Clusters(ctx)
	return p, unlessHidden(err) // without clusters it is not known which ones left
}

// explainPlacement shows the state of a placement.
func (o *explainOptions) explainPlacement(ctx context.Context, h *hub.Hub, key propagation.TemplateKey) error {
	p, err := placed(ctx, h, key)
	if err != nil {
		return err
	}
	if p.Placement.Spec.Strategy.External() {
		runs, err := h.UpdateRuns(ctx)
		if unlessHidden(err) != nil {
			return err
		}
		p.Runs, p.LastRun = staged.Of(key.Name, runs), staged.Last(key.Name, runs)
	}
	if p.Evictions, err = h.Evictions(ctx); unlessHidden(err) != nil {
		return err
	}
	if p.Leaves() {
		if p.Works, err = h.WorksOfPlacement(ctx, key.Name); unlessHidden(err) != nil {
			return err
		}
	}
	if p.Unserved, err = unservedSnapshots(ctx, h, key.Name); err != nil {
		return err
	}
	r := p.Report(h.Now())
	if o.forMachines() {
		return o.screen.Encode(o.format, r)
	}
	objects := selected(r.Selected)
	if r.Snapshot == "" { // nobody has looked yet
		objects = noun(r.Selected, "object", "objects")
	}
	o.screen.Printf("Placement   %s: %s, newest snapshot %s\n", r.Name, objects, cmp.Or(r.Snapshot, "none yet"))
	if r.Deleting != nil {
		o.screen.Printf("Deleted     %s ago, and gone when no cluster has anything of it\n", age(r.Deleting.Time))
	}
	if r.Suspended != "" {
		o.screen.Printf("Suspended   %s: '%s resume crp/%s' goes on\n", r.Suspended, name, r.Name)
	}
	if r.RolledBack != "" {
		o.screen.Printf("Rolled back to snapshot %s, and stays there: '%s rollback crp/%s --release' goes on\n", r.RolledBack, name, r.Name)
	}
	if r.Rollout != "" {
		o.screen.Printf("Rollout     %s\n", r.Rollout)
	}
	o.showRuns(r)
	o.showEvictions(r)
	o.showStages(r)
	o.showMembers(r)
	o.showObjects("Failed", screen.Columns("CLUSTER", "NAMESPACE", "OBJECT", "REASON", "MESSAGE"), r.Failed)
	o.showObjects("Differs", screen.Columns("CLUSTER", "NAMESPACE", "OBJECT", "WHERE"), r.Differs)
	return nil
}

// unservedSnapshots returns the kinds of snapshots that the hub does not serve, although
// overrides of the placement are rolled out by them.
func unservedSnapshots(ctx context.Context, h *hub.Hub, placement string) ([]string, error) {
	cluster, err := h.ClusterOverrides(ctx)
	if unlessHidden(err) != nil {
		return nil, err
	}
	inNames, err := h.NamespaceOverrides(ctx)
	if unlessHidden(err) != nil {
		return nil, err
	}
	var kinds []string
	for _, of := range []struct {
		kind string
		any  bool
		list func() error
	}{
		{
			"ClusterResourceOverrideSnapshots",
			slices.ContainsFunc(cluster, func(o *placementv1.ClusterResourceOverride) bool {
				return rollout.OfPlacement(o.Spec.Placement, placement)
			}),
			func() error { _, err := h.ClusterOverrideSnapshots(ctx); return err },
		},
		{
			"ResourceOverrideSnapshots",
			slices.ContainsFunc(inNames, func(o *placementv1.ResourceOverride) bool { return rollout.OfPlacement(o.Spec.Placement, placement) }),
			func() error { _, err := h.NamespaceOverrideSnapshots(ctx); return err },
		},
	} {
		if !of.any {
			continue
		}
		switch err := of.list(); {
		case errors.Is(err, outcome.ErrNotServed):
			kinds = append(kinds, of.kind)
		case unlessForbidden(err) != nil:
			return nil, err
		}
	}
	return kinds, nil
}

// undecided is said in place of an empty table.
const undecided = "  not decided yet"

func (o *explainOptions) showMembers(r explaining.PlacementReport) {
	o.screen.Println("Clusters")
	switch {
	case len(r.Members) > 0:
	case len(r.Stages) == 0:
		o.screen.Println(undecided)
		return
	default:
		o.screen.Println("  none")
		return
	}
	var rows [][]screen.Cell
	for _, m := range r.Members {
		picked := "no"
		if m.Selected {
			picked = "yes"
		}
		rows = append(rows, []screen.Cell{
			screen.Text(m.Cluster), screen.Text(picked), screen.Text(m.Why), screen.Text(m.State), screen.Text(m.Index), screen.Text(m.Waits),
		})
	}
	o.screen.Table("  ", screen.Columns("CLUSTER", "PICKED", "WHY", "STATE", "SNAPSHOT", "WAITS FOR"), rows, o.wide())
}

func (o *explainOptions) showStages(r explaining.PlacementReport) {
	o.screen.Println("Status")
	if len(r.Stages) == 0 {
		o.screen.Println(undecided)
		return
	}
	var rows [][]screen.Cell
	for _, st := range r.Stages {
		status := screen.Cell{Text: st.Status, Paint: screen.Good}
		if st.Status != "True" || st.Stale || st.Stage == applying.ConditionContested || st.Stage == applying.ConditionFieldsContested {
			status.Paint = screen.Bad
		}
		if st.Stale {
			status.Text += " (of an earlier version)"
		}
		rows = append(rows, []screen.Cell{screen.Text(st.Stage), status, screen.Text(st.Reason), screen.Text(st.Message)})
	}
	o.screen.Table("  ", screen.Columns("STAGE", "STATUS", "REASON", "MESSAGE"), rows, o.wide())
}

// placement shows the snapshots of a placement.
func (o *historyOptions) placement(ctx context.Context, h *hub.Hub, key propagation.TemplateKey) error {
	p, err := placed(ctx, h, key)
	if err != nil {
		return err
	}
	all := p.History()
	switch o.format {
	case formatJSON, formatYAML:
		return o.screen.Encode(o.format, map[string]any{"items": all})
	case formatName:
		for _, r := range all {
			o.screen.Println(r.Name)
		}
		return nil
	}
	if len(all) == 0 {
		o.screen.Note("Nothing was selected yet.")
		return nil
	}
	columns := append(screen.Columns("INDEX", "HASH", "AGE", "LATEST", "CLUSTERS"), screen.Column{Title: "NAME", Wide: true})
	var rows [][]screen.Cell
	for _, r := range all {
		latest := screen.Cell{}
		if r.Latest {
			latest = screen.Cell{Text: "yes", Paint: screen.Good}
		}
		rows = append(rows, []screen.Cell{
			screen.Text(strconv.Itoa(r.Index)), screen.Text(short(r.Hash)), screen.Text(age(r.Created)), latest, screen.Text(some(r.Members, 5)), screen.Text(r.Name),
		})
	}
	o.screen.Table("", columns, rows, o.wide())
	return nil
}

// onClusters adds the flag --cluster.
func (s *session) onClusters(cmd *cobra.Command, clusters *[]string, usage string) {
	cmd.Flags().StringSliceVar(clusters, "cluster", nil, usage)
	_ = cmd.RegisterFlagCompletionFunc("cluster", func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return s.completeClusters(cmd, nil, toComplete)
	})
}

// suspendPlacement changes the suspension of a placement.
func (s *session) suspendPlacement(ctx context.Context, key propagation.TemplateKey, change func(was string) (string, error)) error {
	h, err := s.hub()
	if err != nil {
		return err
	}
	return again(func() error {
		p, err := h.Placement(ctx, key.Name)
		if err != nil {
			return notFound(key, err)
		}
		was := p.Annotations[propagation.AnnotationSuspended]
		is, err := change(was)
		if err != nil {
			return err
		}
		next := *p
		if next.Annotations = maps.Clone(p.Annotations); next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		if next.Annotations[propagation.AnnotationSuspended] = is; is == "" {
			delete(next.Annotations, propagation.AnnotationSuspended)
		}
		if _, err := h.CommitPlacement(ctx, p, &next); err != nil {
			return err
		}
		s.screen.Println(refOf(key) + " " + suspensionSays(was, is))
		return nil
	})
}

func suspensionSays(was, is string) string {
	switch {
	case was == "" && is == "":
		return "is not suspended"
	case is == "":
		return "is resumed: what was held back goes on"
	case is == "true":
		return "is suspended in all members"
	}
	return fmt.Sprintf("is suspended in %s", is)
}
