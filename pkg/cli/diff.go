// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

type diffOptions struct {
	*session
	output
	path string
}

func diffCommand(s *session) *cobra.Command {
	o := &diffOptions{session: s}
	cmd := &cobra.Command{
		Use:   "diff -f FILE|DIRECTORY",
		Short: "Show what a policy, an override or a template would do before it is applied",
		Long: `Show what the policies in a file would do to templates if they were applied:
which policies would hold them and which clusters they would leave, join or
change in, at once and when pending changes take effect. The hub validates the
policies as it would on apply; nothing is written.

Of a template, show which members would change and how: what each gets now, and
what it would get. Of an override policy of either scope, show the same for
every template that it concerns; of a ClusterResourceOverride or a
ResourceOverride, for every object that a placement propagates to a member. The
values of Secrets are not shown.

Of a ClusterResourcePlacement, show what it would select, which clusters it
would pick and why, and in which steps each of them would get it.

Of a Cluster with other labels or taints, show which templates would leave it
and, if these are more than may leave at once, that they would be held.`,
		Example: examples(`
			kubectl sluice diff -f policy.yaml

			# All that is in a directory, as kubectl apply -f would take it
			kubectl sluice diff -f policies/

			# What members would get of a changed template, or with another override
			kubectl sluice diff -f deployment.yaml -n shop
			kubectl sluice diff -f override.yaml

			# What a placement would select, and where that would go, step by step
			kubectl sluice diff -f crp.yaml

			# What would happen if a label changed
			kubectl get cluster member1 -o yaml >member1.yaml
			kubectl sluice diff -f member1.yaml

			# With the policies' differences, for programs
			kubectl sluice diff -f policy.yaml -o yaml`),
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().StringVarP(&o.path, "filename", "f", "", "file with policies, overrides, templates, placements or Clusters, or directory of such files; - is the standard input")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	o.addTo(cmd, formatWide, formatJSON, formatYAML)
	return cmd
}

func (o *diffOptions) run(ctx context.Context) error {
	if o.path == "" {
		return usagef("-f is missing: it names the file to compare")
	}
	objects, err := o.objectsIn(o.path)
	if err != nil {
		return err
	}
	h, err := o.hub()
	if err != nil {
		return err
	}
	return o.compare(ctx, h, objects)
}

// compare shows what the objects of a file would do.
func (o *diffOptions) compare(ctx context.Context, h *hub.Hub, objects []*unstructured.Unstructured) error {
	before, err := world(ctx, h)
	if err != nil {
		return err
	}
	planned, err := o.plan(ctx, h, objects)
	if err != nil {
		return err
	}
	after, concerned, err := becoming(ctx, h, before, planned)
	if err != nil {
		return err
	}
	changes, next, same, dark, err := o.changes(ctx, h, before, after, concerned)
	if err != nil {
		return err
	}
	losses, err := o.losses(ctx, h, before, after, next)
	if err != nil {
		return err
	}
	if len(planned.clusters) == 0 { // what people ask for is shown with each template
		losses = slices.DeleteFunc(losses, func(l explaining.Loss) bool { return !l.Held })
	}
	outlooks, err := o.outlooks(ctx, h, planned.placements)
	if err != nil {
		return err
	}
	rewritten, err := o.allRewrites(ctx, h, before, after, planned)
	if err != nil {
		return err
	}
	if o.forMachines() {
		return cmp.Or(o.encode(changes, losses, outlooks, slices.Concat(rewritten.templates, rewritten.placed)), dark.err())
	}
	o.showOutlooks(outlooks)
	o.showAllRewrites(planned, rewritten)
	if len(planned.policies) > 0 {
		o.show(changes, same)
	}
	o.showLosses(losses, len(planned.clusters) > 0)
	return dark.err()
}

// becoming returns the world with the policies and Clusters of a file in it, and the
// policies that this concerns: those of the file, and the ones that they replace.
func becoming(ctx context.Context, h *hub.Hub, before explaining.World, planned drafts) (after explaining.World, concerned []*propagation.Policy, err error) {
	after = before
	for _, p := range planned.policies {
		p = h.Resolve(p)
		old, err := h.Policy(ctx, p.Key)
		switch {
		case err == nil:
			p.ID, p.Created = old.ID, old.Created
			concerned = append(concerned, old)
		case !errors.Is(err, outcome.ErrGone):
			return after, nil, err
		}
		after = after.With(p)
		concerned = append(concerned, p)
	}
	for _, c := range planned.clusters {
		after = after.WithCluster(c)
	}
	return after, concerned, nil
}

func (o *diffOptions) encode(changes []explaining.Change, losses []explaining.Loss, outlooks []explaining.Outlook, rewrites []explaining.Rewrite) error {
	all := map[string]any{"items": changes, "losses": losses}
	if len(rewrites) > 0 {
		all["rewrites"] = rewrites
	}
	if len(outlooks) > 0 {
		all["placements"] = outlooks
	}
	return o.screen.Encode(o.format, all)
}

// changes compares what happens to each template that a policy may concern in either
// world, and counts those to which nothing happens. next are the bindings of those that
// change at once.
func (o *diffOptions) changes(ctx context.Context, h *hub.Hub, before, after explaining.World, concerned []*propagation.Policy) (changes []explaining.Change, next map[propagation.BindingKey]*propagation.Binding, same int, dark untold, err error) {
	if len(concerned) == 0 {
		return nil, nil, 0, nil, nil
	}
	next = map[propagation.BindingKey]*propagation.Binding{}
	f := concerning(concerned...)
	f.namespace = onlyOneOf(concerned)
	all, dark, err := subjects(ctx, h, f)
	if err != nil {
		return nil, nil, 0, nil, err
	}
	for _, s := range all {
		if b := after.Acting(s); b != nil {
			next[b.Key] = b
		}
		is, becomes := before.Compare(before, s), before.Compare(after, s)
		switch {
		case !becomes.None() && !equalChange(is, becomes):
			changes = append(changes, becomes)
		case becomes.To != nil:
			same++
		}
	}
	return changes, next, same, dark, nil
}

// onlyOneOf returns the only namespace in which the policies select; empty: there are
// several.
func onlyOneOf(policies []*propagation.Policy) string {
	namespaces := make([]string, len(policies))
	for i, p := range policies {
		if p.Key.Scope == propagation.Cluster {
			return ""
		}
		namespaces[i] = p.Key.Namespace
	}
	return onlyOne(namespaces)
}

func (o *diffOptions) show(changes []explaining.Change, same int) {
	now, later := 0, 0
	rows := make([][]screen.Cell, 0, len(changes))
	for _, c := range changes {
		row := []screen.Cell{screen.Text(c.Template.Namespace), screen.Text(refOf(c.Template)), claimCell(c), nowCell(c), screen.Text(""), screen.Text(c.Message)}
		if c.Later != nil {
			row[4] = screen.Text(c.Later.String())
			later++
		}
		if row[3].Paint != screen.Plain {
			now++
		}
		rows = append(rows, row)
	}
	if len(changes) > 0 {
		columns := append(screen.Columns("NAMESPACE", "TEMPLATE", "HELD BY", "NOW", "LATER"), screen.Column{Title: "WHY", Wide: true})
		o.screen.Table("", columns, rows, o.wide())
		o.screen.Println("")
	}
	o.screen.Printf("%s now, %d later; %s.\n", noun(now, "template changes", "templates change"), later, noun(same, "other stays as it is", "others stay as they are"))
	if later > 0 {
		o.screen.Printf("Later: when the template changes, or with '%s activate'.\n", name)
	}
}

func claimCell(c explaining.Change) screen.Cell {
	from, to := "nobody", "nobody"
	if c.From != nil {
		from = policyRef(*c.From)
	}
	if c.To != nil {
		to = policyRef(*c.To)
	}
	if from == to {
		return screen.Text(to)
	}
	return screen.Cell{Text: from + " → " + to, Paint: screen.Warn}
}

// nowCell is coloured if something happens to a cluster at once.
func nowCell(c explaining.Change) screen.Cell {
	var what []string
	if c.Now != nil && !c.Now.None() {
		what = append(what, c.Now.String())
	}
	if c.Suspension != "" {
		what = append(what, "suspended: "+c.Suspension)
	}
	if len(what) == 0 {
		return screen.Text("")
	}
	cell := screen.Cell{Text: what[0], Paint: screen.Warn}
	for _, w := range what[1:] {
		cell.Text += "; " + w
	}
	return cell
}
