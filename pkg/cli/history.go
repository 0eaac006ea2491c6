// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/cli/screen"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

type historyOptions struct {
	*session
	output
	revision int64
}

// revisionLine is one revision of a template.
type revisionLine struct {
	Revision int64     `json:"revision"`
	Name     string    `json:"name"`
	Hash     string    `json:"hash"`
	InForce  bool      `json:"inForce"`
	Created  time.Time `json:"created,omitzero"`
}

func historyCommand(s *session) *cobra.Command {
	o := &historyOptions{session: s}
	cmd := &cobra.Command{
		Use:   "history KIND/NAME | pp/NAME | cpp/NAME | crp/NAME",
		Short: "Show earlier contents of a template, or earlier specs of a policy",
		Long: `Show the contents of a template that took effect, the newest first, and which of
them is in force. Pending content is not included. Of a policy: the specs that
it had, as far as Sluice saw them, whether or not they took effect. Of a
placement: its snapshots, and which clusters have which.`,
		Example: examples(`
			kubectl sluice history deployment/nginx -n shop

			# The content of revision 3
			kubectl sluice history deployment/nginx -n shop --revision 3 -o yaml

			# The revisions of a policy, and what going back to one would do
			kubectl sluice history pp/nginx -n shop
			kubectl sluice history pp/nginx -n shop --revision 2 | kubectl sluice diff -f -`),
		Args:              oneArg("KIND/NAME"),
		ValidArgsFunction: s.completeObjects(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := s.objects(args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), keys[0])
		},
	}
	cmd.Flags().Int64Var(&o.revision, "revision", 0, "show the content of this revision")
	o.addTo(cmd, formatWide, formatName, formatJSON, formatYAML)
	return cmd
}

func (o *historyOptions) run(ctx context.Context, key propagation.TemplateKey) error {
	h, err := o.hub()
	if err != nil {
		return err
	}
	if _, ok := hub.PlacementKeyOf(key); ok {
		return o.placement(ctx, h, key)
	}
	if policy, ok := hub.PolicyKeyOf(key); ok {
		return o.policy(ctx, h, policy)
	}
	b, err := h.Binding(ctx, propagation.BindingOf(key))
	if errors.Is(err, outcome.ErrGone) || err == nil && !b.IsOf(key) {
		return fmt.Errorf("%s has no binding, and so no history: '%s explain %s%s' says more", refOf(key), name, refOf(key), inNamespace(key.Namespace))
	}
	if err != nil {
		return installed(err)
	}
	revisions, err := h.Revisions(ctx, b)
	if err != nil {
		return err
	}
	revisions = slices.DeleteFunc(revisions, func(r *propagation.Revision) bool { return b.Genuine(r) != nil })
	slices.SortFunc(revisions, func(x, y *propagation.Revision) int { return cmp.Compare(y.Number, x.Number) })
	if o.revision != 0 {
		return o.content(revisions)
	}
	return o.list(ctx, b, revisions)
}

// content prints one revision.
func (o *historyOptions) content(revisions []*propagation.Revision) error {
	var kept []string
	for _, r := range revisions {
		if r.Number == o.revision {
			return o.screen.Encode(cmp.Or(o.machineFormat(), formatYAML), r.Content)
		}
		kept = append(kept, strconv.FormatInt(r.Number, 10))
	}
	return fmt.Errorf("revision %d is not kept: there are %s", o.revision, strings.Join(kept, ", "))
}

func (o *historyOptions) machineFormat() string {
	if o.forMachines() {
		return o.format
	}
	return ""
}

func (o *historyOptions) list(ctx context.Context, b *propagation.Binding, revisions []*propagation.Revision) error {
	items := o.lines(ctx, b, revisions)
	lines := make([]keptLine, len(items))
	for i, l := range items {
		lines[i] = keptLine{l.Revision, l.Name, l.Hash, l.Created, l.InForce}
	}
	return o.show(items, lines, "IN FORCE", "No content was let through yet.")
}

// keptLine is a revision of a template, policy or placement.
type keptLine struct {
	revision   int64
	name, hash string
	created    time.Time
	counts     bool // it is in force now
}

// show prints the revisions, for programs as items. counts is the title of the column
// that marks the revision in force; nothing is the text if there are none.
func (o *historyOptions) show(items any, lines []keptLine, counts, nothing string) error {
	switch o.format {
	case formatJSON, formatYAML:
		return o.screen.Encode(o.format, map[string]any{"items": items})
	case formatName:
		for _, l := range lines {
			o.screen.Println(l.name)
		}
		return nil
	}
	if len(lines) == 0 {
		o.screen.Note("%s", nothing)
		return nil
	}
	columns := append(screen.Columns("REVISION", "HASH", "AGE", counts), screen.Column{Title: "NAME", Wide: true})
	rows := make([][]screen.Cell, 0, len(lines))
	for _, l := range lines {
		yes := screen.Cell{}
		if l.counts {
			yes = screen.Cell{Text: "yes", Paint: screen.Good}
		}
		rows = append(rows, []screen.Cell{
			screen.Text(strconv.FormatInt(l.revision, 10)), screen.Text(short(l.hash)), screen.Text(age(l.created)), yes, screen.Text(l.name),
		})
	}
	o.screen.Table("", columns, rows, o.wide())
	return nil
}

func (o *historyOptions) lines(ctx context.Context, b *propagation.Binding, revisions []*propagation.Revision) []revisionLine {
	lines := make([]revisionLine, 0, len(revisions))
	for _, r := range revisions {
		lines = append(lines, revisionLine{Revision: r.Number, Name: r.Name, Hash: r.Hash, InForce: r.Name == b.Revision()})
	}
	if len(revisions) == 0 {
		return lines
	}
	namespace := revisions[0].Namespace
	created, err := o.created(ctx, revisionKind(b), namespace, propagation.LabelBinding+"="+propagation.BindingLabel(b.Key))
	if err != nil {
		return lines // without permission to list the metadata there is no age
	}
	for i := range lines {
		lines[i].Created = created[types.NamespacedName{Namespace: namespace, Name: lines[i].Name}].CreationTimestamp.Time
	}
	return lines
}

// revisionKind returns the kind in which the content of the binding's template is
// stored.
func revisionKind(b *propagation.Binding) schema.GroupVersionKind {
	if gvk := b.Template().GroupVersionKind(); gvk.Group == "" && gvk.Kind == "Secret" {
		return gvk
	}
	return controllerRevision
}

// short returns the beginning of a hash.
func short(hash string) string { return hash[:min(len(hash), 10)] }

// inForce returns the content in force; nil: there is none, or it is not stored.
func inForce(ctx context.Context, h *hub.Hub, b *propagation.Binding) (*propagation.Revision, error) {
	if b == nil || b.Revision() == "" {
		return nil, nil
	}
	r, err := h.Revision(ctx, b, b.Revision())
	if errors.Is(err, outcome.ErrGone) {
		return nil, nil
	}
	return r, err
}
