// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

type clustersOptions struct {
	*session
	output
	names []string
}

func clustersCommand(s *session) *cobra.Command {
	o := &clustersOptions{session: s}
	cmd := &cobra.Command{
		Use:     "clusters [NAME...]",
		Aliases: []string{"cluster"},
		Short:   "Show the members: whether they are ready, and what they have",
		Long: `Show the members: whether each is ready, and if not, since when and why; its
version; how many of its templates are applied; how many placements go there;
how many removals are held there; and whether it is protected from deletion.

A member that only placements know (a MemberCluster without a Cluster) is shown,
too.`,
		Example: examples(`
			kubectl sluice get clusters

			# One, with its endpoint and its last message
			kubectl sluice get clusters member1 -o wide`),
		ValidArgsFunction: s.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			return o.run(cmd.Context())
		},
	}
	o.addTo(cmd, formatWide, formatName, formatJSON, formatYAML)
	return cmd
}

// clusterSummary is one line about a member.
type clusterSummary struct {
	Name string `json:"name"`
	// Ready is the status of the condition; Reason and Since belong to it.
	Ready   metav1.ConditionStatus `json:"ready"`
	Reason  string                 `json:"reason,omitempty"`
	Message string                 `json:"message,omitempty"`
	Since   time.Time              `json:"since,omitzero"`
	// Leaving: its deletion was requested.
	Leaving  bool   `json:"leaving,omitempty"`
	Version  string `json:"version,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// Applied counts the templates that are applied, Works all Works.
	Applied int `json:"applied"`
	Works   int `json:"works"`
	// Placements that have Works for it.
	Placements int `json:"placements"`
	// HeldRemovals counts the templates whose removal from the member is held until it
	// is approved.
	HeldRemovals int       `json:"heldRemovals"`
	Protected    bool      `json:"deletionProtected"`
	Created      time.Time `json:"created,omitzero"`
}

func (o *clustersOptions) run(ctx context.Context) error {
	h, err := o.hub()
	if err != nil {
		return err
	}
	lines, err := o.lines(ctx, h)
	if err != nil {
		return err
	}
	switch {
	case o.forMachines() && len(o.names) == 1:
		return o.screen.Encode(o.format, lines[0])
	case o.forMachines():
		return o.screen.Encode(o.format, map[string]any{"items": lines})
	case o.format == formatName:
		for _, g := range lines {
			o.screen.Println("cluster." + clusterv1alpha1.GroupName + "/" + g.Name)
		}
		return nil
	case len(lines) == 0:
		o.screen.Note("No cluster has joined: '%s join NAME --cluster-kubeconfig FILE' lets one.", name)
		return nil
	}
	o.table(lines)
	return nil
}

// lines returns the requested members, sorted by name.
func (o *clustersOptions) lines(ctx context.Context, h *hub.Hub) ([]clusterSummary, error) {
	lines, err := summariesOfClusters(ctx, h)
	if err != nil {
		return nil, err
	}
	for _, n := range o.names {
		if !slices.ContainsFunc(lines, func(g clusterSummary) bool { return g.Name == n }) {
			return nil, notJoined(n)
		}
	}
	lines = slices.DeleteFunc(lines, func(g clusterSummary) bool { return len(o.names) > 0 && !slices.Contains(o.names, g.Name) })
	byName := map[string]*clusterSummary{}
	for i := range lines {
		byName[lines[i].Name] = &lines[i]
	}
	if err := countWorks(ctx, h, byName); err != nil {
		return nil, err
	}
	return lines, countHeld(ctx, h, byName)
}

// summariesOfClusters returns the members as described by their own objects.
func summariesOfClusters(ctx context.Context, h *hub.Hub) ([]clusterSummary, error) {
	clusters, err := h.Clusters(ctx)
	if err != nil {
		return nil, installed(err)
	}
	lines, known := make([]clusterSummary, 0, len(clusters)), map[string]bool{}
	for _, c := range clusters {
		known[c.Name] = true
		lines = append(lines, summaryOfCluster(c))
	}
	members, err := h.Members(ctx)
	if err != nil && !errors.Is(err, outcome.ErrNotServed) {
		return nil, err
	}
	for _, m := range members {
		if !known[m.Name] {
			lines = append(lines, summaryOfMember(m))
		}
	}
	slices.SortFunc(lines, func(a, b clusterSummary) int { return cmp.Compare(a.Name, b.Name) })
	return lines, nil
}

func summaryOfCluster(c *clusterv1alpha1.Cluster) clusterSummary {
	g := summaryOfMeta(&c.ObjectMeta, meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ConditionReady))
	g.Version, g.Endpoint = c.Status.KubernetesVersion, c.Spec.APIEndpoint
	return g
}

func summaryOfMember(m *memberclusterv1.MemberCluster) clusterSummary {
	g := summaryOfMeta(&m.ObjectMeta, meta.FindStatusCondition(m.Status.Conditions, memberclusterv1.ConditionHealthy))
	g.Version = m.Status.Properties[memberclusterv1.PropertyKubernetesVersion].Value
	return g
}

func summaryOfMeta(m *metav1.ObjectMeta, c *metav1.Condition) clusterSummary {
	g := clusterSummary{
		Name: m.Name, Ready: metav1.ConditionUnknown, Message: "nobody has asked it yet", Since: m.CreationTimestamp.Time,
		Leaving: m.DeletionTimestamp != nil, Protected: propagation.Protected(m.Labels), Created: m.CreationTimestamp.Time,
	}
	if c != nil {
		g.Ready, g.Reason, g.Message, g.Since = c.Status, c.Reason, c.Message, c.LastTransitionTime.Time
	}
	return g
}

// countWorks counts the members' Works. If the hub does not serve one of the two Work
// APIs, there are none in that.
func countWorks(ctx context.Context, h *hub.Hub, members map[string]*clusterSummary) error {
	works, err := h.Works(ctx)
	if err != nil && !errors.Is(err, outcome.ErrNotServed) {
		return err
	}
	for _, w := range works {
		g := members[w.Key.Cluster]
		if g == nil || w.Deleting {
			continue
		}
		g.Works++
		if reporting.Holds(w) {
			g.Applied++
		}
	}
	placed, err := h.PlacementWorks(ctx)
	if err != nil && !errors.Is(err, outcome.ErrNotServed) {
		return err
	}
	type place struct{ cluster, placement string }
	seen := map[place]bool{}
	for _, w := range placed {
		p := place{w.Key.Cluster, w.Placement()}
		if g := members[p.cluster]; g != nil && !w.Deleting && p.placement != "" && !seen[p] {
			seen[p] = true
			g.Placements++
		}
	}
	return nil
}

// countHeld counts the removals that are held in the members, reading bindings in
// pages.
func countHeld(ctx context.Context, h *hub.Hub, members map[string]*clusterSummary) error {
	seen := map[propagation.BindingKey]bool{}
	return eachBinding(ctx, h, func(b *propagation.Binding) {
		if seen[b.Key] {
			return
		}
		for _, cluster := range b.HeldRemovals() {
			seen[b.Key] = true
			if g := members[cluster]; g != nil {
				g.HeldRemovals++
			}
		}
	})
}

// eachBinding calls f for the bindings of all namespaces, for some perhaps twice.
func eachBinding(ctx context.Context, h *hub.Hub, f func(*propagation.Binding)) error {
	const pageSize = 500
	for cont := ""; ; {
		page, next, err := h.ListBindings(ctx, "", pageSize, cont)
		if err != nil {
			return err
		}
		for _, b := range page {
			f(b)
		}
		if cont = next; cont == "" {
			return nil
		}
	}
}

func (o *clustersOptions) table(lines []clusterSummary) {
	columns := append(screen.Columns("CLUSTER", "READY", "VERSION", "APPLIED", "PLACEMENTS", "HELD", "PROTECTED", "AGE"),
		screen.Column{Title: "ENDPOINT", Wide: true}, screen.Column{Title: "MESSAGE", Wide: true})
	rows := make([][]screen.Cell, 0, len(lines))
	for _, g := range lines {
		rows = append(rows, []screen.Cell{
			screen.Text(g.Name), g.readyCell(), screen.Text(g.Version), partCell(g.Applied, g.Works), screen.Text(strconv.Itoa(g.Placements)),
			g.heldCell(), g.protectedCell(), screen.Text(age(g.Created)), screen.Text(g.Endpoint), screen.Text(g.Message),
		})
	}
	o.screen.Table("", columns, rows, o.wide())
}

// readyCell shows since when and why a member is not ready.
func (g clusterSummary) readyCell() screen.Cell {
	c := screen.Cell{Text: string(g.Ready), Paint: screen.Good}
	if g.Ready != metav1.ConditionTrue {
		c.Paint = screen.Bad
		if since := age(g.Since); since != "" {
			c.Text += " for " + since
		}
		if g.Reason != "" {
			c.Text += ": " + g.Reason
		}
	}
	if g.Leaving {
		c.Text, c.Paint = c.Text+", leaving", screen.Warn
	}
	return c
}

func (g clusterSummary) heldCell() screen.Cell {
	if g.HeldRemovals == 0 {
		return screen.Text("")
	}
	return screen.Cell{Text: strconv.Itoa(g.HeldRemovals), Paint: screen.Warn}
}

func (g clusterSummary) protectedCell() screen.Cell {
	if g.Protected {
		return screen.Text("yes")
	}
	return screen.Text("")
}
