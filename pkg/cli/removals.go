// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// removals shows the removals that are held in these clusters, or in all.
func (o *getOptions) removals(ctx context.Context, clusters []string) error {
	h, err := o.hub()
	if err != nil {
		return err
	}
	if err := areJoined(ctx, h, clusters); err != nil {
		return err
	}
	w, err := world(ctx, h)
	if err != nil {
		return err
	}
	bindings, err := h.Bindings(ctx)
	if err != nil {
		return installed(err)
	}
	inside, err := inside(ctx, h)
	if err != nil {
		return err
	}
	all := slices.DeleteFunc(append(w.Removals(bindings), inside...), func(r explaining.Removal) bool {
		return len(clusters) > 0 && !slices.Contains(clusters, r.Cluster)
	})
	if n := o.flags.Namespace; n != nil && *n != "" && !o.all {
		all = slices.DeleteFunc(all, func(r explaining.Removal) bool { return r.Inside == nil && r.Template.Namespace != *n })
	}
	switch {
	case o.forMachines():
		return o.screen.Encode(o.format, map[string]any{"items": all})
	case o.format == formatName:
		for _, r := range all {
			o.screen.Println(fullRef(r.Template))
		}
		return nil
	case len(all) == 0:
		o.screen.Note("No removal is held.")
		return nil
	}
	o.screen.Table("", removalColumns, removalRows(all), o.wide())
	return nil
}

var removalColumns = screen.Columns("CLUSTER", "NAMESPACE", "TEMPLATE", "POLICY", "SINCE", "WHY")

func removalRows(all []explaining.Removal) [][]screen.Cell {
	rows := make([][]screen.Cell, 0, len(all))
	for _, r := range all {
		policy, why := "", "the cluster "+r.Why
		if r.Inside != nil {
			why = r.Why
		}
		if r.Policy != nil {
			policy = policyRef(*r.Policy)
		}
		rows = append(rows, []screen.Cell{
			screen.Text(r.Cluster), screen.Text(r.Template.Namespace), screen.Text(refOf(r.Template)), screen.Text(policy),
			screen.Text(age(r.Since)), screen.Text(why),
		})
	}
	return rows
}

type approveOptions struct {
	*session
	all, dryRun bool
}

func approveCommand(s *session) *cobra.Command {
	o := &approveOptions{session: s}
	cmd := &cobra.Command{
		Use:   "approve CLUSTER... | --all",
		Short: "Approve removals that are held",
		Long: `Approve the removal of templates from a cluster that is held because more of
them would leave it than may at once, and nobody asked for that by name: for
example, a label of the Cluster changed. Approve as well the removal of a
Namespace or a CustomResourceDefinition that is held because objects of others
would be deleted with it. An approval is for the removals that are held now;
later ones are held again.

To keep the templates, revert the change instead.`,
		Example: examples(`
			# What is held, and why
			kubectl sluice get removals

			# Approve it for one cluster
			kubectl sluice approve member1`),
		ValidArgsFunction: s.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.all == (len(args) > 0) {
				return usagef("name the clusters that may be left, or else --all")
			}
			return o.run(cmd.Context(), args)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "for every cluster")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "only show what would be removed")
	return cmd
}

func (o *approveOptions) run(ctx context.Context, clusters []string) error {
	h, err := o.hub()
	if err != nil {
		return err
	}
	if err := areJoined(ctx, h, clusters); err != nil {
		return err
	}
	w, err := world(ctx, h)
	if err != nil {
		return err
	}
	bindings, err := h.Bindings(ctx)
	if err != nil {
		return installed(err)
	}
	chosen := func(cluster string) bool { return o.all || slices.Contains(clusters, cluster) }
	inside, err := inside(ctx, h)
	if err != nil {
		return err
	}
	held := slices.DeleteFunc(append(w.Removals(bindings), inside...), func(r explaining.Removal) bool { return !chosen(r.Cluster) })
	switch {
	case len(held) == 0:
		o.screen.Println("Nothing is held there.")
		return nil
	case o.dryRun:
		o.screen.Table("", removalColumns, removalRows(held), false)
		return nil
	}
	if err := errors.Join(o.approve(ctx, h, bindings, chosen), approveInside(ctx, h, held)); err != nil {
		return err
	}
	o.screen.Printf("%s now.\n", noun(len(held), "removal is approved: the template leaves", "removals are approved: the templates leave"))
	return nil
}

// approvals is how many approvals are written in parallel.
const approvals = 8

// approve approves the held removals of the bindings, each as it was read.
func (o *approveOptions) approve(ctx context.Context, h *hub.Hub, bindings []*propagation.Binding, chosen func(cluster string) bool) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(approvals)
	for _, b := range bindings {
		seen := slices.DeleteFunc(b.HeldRemovals(), func(cluster string) bool { return !chosen(cluster) })
		if len(seen) == 0 {
			continue
		}
		group.Go(func() error {
			return again(func() error {
				now, err := h.Binding(ctx, b.Key)
				if errors.Is(err, outcome.ErrGone) {
					return nil
				}
				if err != nil {
					return err
				}
				_, err = h.CommitBinding(ctx, now, approved(now, b, seen))
				return err
			})
		})
	}
	return group.Wait()
}

// approved returns the binding with those removals approved that are still held since
// the time at which they were seen: nobody has seen one that was held later.
func approved(now, seen *propagation.Binding, clusters []string) *propagation.Binding {
	removals, was := now.Removals(), seen.Removals()
	for _, cluster := range clusters {
		r := removals[cluster]
		if r.Holds() && r.Held.Equal(was[cluster].Held) {
			r.Approved = true
			removals[cluster] = r
		}
	}
	return now.WithRemovals(removals)
}

// losses returns what members would lose at once because of the file; next are the
// bindings that its policies change.
func (o *diffOptions) losses(ctx context.Context, h *hub.Hub, before, after explaining.World, next map[propagation.BindingKey]*propagation.Binding) ([]explaining.Loss, error) {
	bindings, err := h.Bindings(ctx)
	if err != nil {
		return nil, err
	}
	works, err := h.Works(ctx)
	if err != nil {
		return nil, err
	}
	becoming := slices.Clone(bindings)
	for i, b := range becoming {
		if n := next[b.Key]; n != nil {
			becoming[i] = n
		}
	}
	now := time.Now()
	is := before.Losses(bindings, works, now)
	return slices.DeleteFunc(after.Losses(becoming, works, now), func(l explaining.Loss) bool {
		return slices.ContainsFunc(is, func(o explaining.Loss) bool { return o.Cluster == l.Cluster && len(o.Removals) == len(l.Removals) })
	}), nil
}

// showLosses shows what members would lose, and what of that would be held; for
// Clusters, also that they lose nothing.
func (o *diffOptions) showLosses(losses []explaining.Loss, clusters bool) {
	if len(losses) == 0 {
		if clusters {
			o.screen.Println("No template would leave a cluster.")
		}
		return
	}
	for _, l := range losses {
		if clusters {
			o.screen.Table("", lossColumns, lossRows(l.Removals), o.wide())
			o.screen.Println("")
		}
		o.screen.Printf("%s.\n", l)
		if l.Held {
			o.screen.Printf("Held: until '%s approve %s'.\n", name, l.Cluster)
		}
	}
}

var lossColumns = screen.Columns("CLUSTER", "NAMESPACE", "TEMPLATE", "POLICY", "WHY")

func lossRows(all []explaining.Removal) [][]screen.Cell {
	rows := removalRows(all)
	for i, r := range rows {
		rows[i] = slices.Delete(r, 4, 5)
	}
	return rows
}
