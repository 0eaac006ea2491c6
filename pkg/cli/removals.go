// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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

const errWhoLeaves = "name the clusters that may be left, or else --all"

func approveCommand(s *session) *cobra.Command {
	o := &approveOptions{session: s}
	cmd := &cobra.Command{
		Use:   "approve CLUSTER... [KIND/NAME...] | --all [KIND/NAME...] | careq/NAME...",
		Short: "Approve removals that are held, or what a run of staged updates waits for",
		Long: `Approve the removal of templates from a cluster that is held because more of
them would leave it than may at once, and nobody asked for that by name: for
example, a label of the Cluster changed. An approval is for the removals that are
held now; later ones are held again. With KIND/NAME, or -n, it is for these alone.

The removal of a Namespace or a CustomResourceDefinition that is held because objects
of others would be deleted with it is approved only by name.

To keep the templates, revert the change instead.

Of a ClusterApprovalRequest, let the run go on that waits for it.`,
		Example: examples(`
			# What is held, and why
			kubectl sluice get removals

			# Approve it for one cluster
			kubectl sluice approve member1

			# Approve that a namespace goes with the objects of others in it
			kubectl sluice approve member1 namespace/shop

			# Approve that a run goes on after its stage canary
			kubectl sluice approve careq/release-after-canary`),
		ValidArgsFunction: s.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			var clusters, names []string
			for _, arg := range args {
				if strings.Contains(arg, "/") {
					names = append(names, arg)
				} else {
					clusters = append(clusters, arg)
				}
			}
			if o.all && len(clusters) > 0 || !o.all && len(args) == 0 {
				return usagef(errWhoLeaves)
			}
			return o.run(cmd.Context(), clusters, names)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "for every cluster")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "only show what would be removed")
	return cmd
}

func (o *approveOptions) run(ctx context.Context, clusters, names []string) error {
	h, err := o.hub()
	if err != nil {
		return err
	}
	named, err := o.objects(names)
	if err != nil {
		return err
	}
	requests, named := requested(named)
	switch {
	case len(requests) > 0 && (o.all || len(clusters)+len(named) > 0):
		return usagef("approve requests of runs and removals one after the other")
	case len(requests) > 0:
		return o.approveRequests(ctx, h, requests)
	case !o.all && len(clusters) == 0:
		return usagef(errWhoLeaves)
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
	held := slices.DeleteFunc(append(w.Removals(bindings), inside...), func(r explaining.Removal) bool {
		return !o.all && !slices.Contains(clusters, r.Cluster)
	})
	leave, stay, err := o.choose(held, named)
	switch {
	case err != nil:
		return err
	case len(leave)+len(stay) == 0:
		o.screen.Println("Nothing is held there.")
		return nil
	case len(leave) == 0:
		return fmt.Errorf("what is held there holds what others put there; name it to let it go: %s", naming(stay[0]))
	case o.dryRun:
		o.screen.Table("", removalColumns, removalRows(leave), false)
		return nil
	}
	if err := errors.Join(o.approve(ctx, h, bindings, leave), approveInside(ctx, h, leave)); err != nil {
		return err
	}
	o.screen.Printf("%s now.\n", noun(len(leave), "removal is approved: the template leaves", "removals are approved: the templates leave"))
	if len(stay) > 0 {
		o.screen.Note("%s what others put there; name what is to leave with it: %s", noun(len(stay), "stays and holds", "stay and hold"), naming(stay[0]))
	}
	return nil
}

// choose are those that are named, or else those of the namespace that the flag names; stay
// are those of these that nobody approves without a name.
func (o *approveOptions) choose(held []explaining.Removal, named []propagation.TemplateKey) (leave, stay []explaining.Removal, err error) {
	for _, key := range named {
		if !slices.ContainsFunc(held, func(r explaining.Removal) bool { return r.Template.ID() == key.ID() }) {
			return nil, nil, fmt.Errorf("%s is not held there: '%s get removals' lists what is", where(key), name)
		}
	}
	for _, r := range held {
		is := func(key propagation.TemplateKey) bool { return r.Template.ID() == key.ID() }
		switch n := o.flags.Namespace; {
		case len(named) > 0:
			if slices.ContainsFunc(named, is) {
				leave = append(leave, r)
			}
		case n != nil && *n != "" && r.Template.Namespace != *n:
		case r.Inside != nil:
			stay = append(stay, r)
		default:
			leave = append(leave, r)
		}
	}
	return leave, stay, nil
}

// naming is the command that lets go what holds others.
func naming(r explaining.Removal) string {
	return fmt.Sprintf("'%s approve %s %s'", name, r.Cluster, refOf(r.Template))
}

// approvals are written at once.
const approvals = 8

// approve marks on the bindings, each as it was read, what may leave.
func (o *approveOptions) approve(ctx context.Context, h *hub.Hub, bindings []*propagation.Binding, leave []explaining.Removal) error {
	type removal struct{ cluster, template string }
	may := map[removal]bool{}
	for _, r := range leave {
		if r.Inside == nil {
			may[removal{r.Cluster, r.Template.ID()}] = true
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(approvals)
	for _, b := range bindings {
		seen := slices.DeleteFunc(b.HeldRemovals(), func(cluster string) bool { return !may[removal{cluster, b.Template().ID()}] })
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
	now := h.Now()
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
