// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

type rollbackOptions struct {
	*session
	index    int
	revision int64
	release  bool
}

func rollbackCommand(s *session) *cobra.Command {
	o := &rollbackOptions{session: s}
	cmd := &cobra.Command{
		Use:   "rollback crp/NAME --to-index INDEX | --release, or KIND/NAME --to-revision REVISION",
		Short: "Roll a placement, a template or a policy back to an earlier version",
		Long: `Roll out an earlier snapshot of a placement, at the pace of its strategy, and
stay at it: later changes on the hub are stored in snapshots, and do not reach
members until --release. 'kubectl sluice history crp/NAME' lists the snapshots.
The placement has the annotation ` + placing.AnnotationRollback + ` as long as
it is rolled back.

Or set a template's content to that of an earlier revision ('kubectl sluice
history KIND/NAME'). That is a change of the template like any other: it takes
effect as its policy says, and the next change replaces it.

Or set a policy's spec to that of an earlier revision ('kubectl sluice history
pp/NAME'). The effect is shown first, as by 'kubectl sluice diff'. It is an edit
of the policy like any other: if the policy is Lazy, or the gate StaticPolicy is
on, templates follow as after other edits.`,
		Example: examples(`
			kubectl sluice rollback crp/shop --to-index 3

			# Continue with the newest snapshots
			kubectl sluice rollback crp/shop --release

			kubectl sluice rollback deployment/nginx -n shop --to-revision 2

			kubectl sluice rollback pp/nginx -n shop --to-revision 2`),
		Args:              oneArg("crp/NAME or KIND/NAME"),
		ValidArgsFunction: s.completeObjects(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := s.objects(args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), args[0], keys[0], cmd.Flags().Changed("to-index"))
		},
	}
	cmd.Flags().IntVar(&o.index, "to-index", 0, "index of the snapshot to roll out and to stay at")
	cmd.Flags().Int64Var(&o.revision, "to-revision", 0, "of a template or a policy: the revision to go back to")
	cmd.Flags().BoolVar(&o.release, "release", false, "roll out the newest snapshot again, and later ones")
	return cmd
}

// run rolls back what arg names; indexed: the index of a snapshot was given.
func (o *rollbackOptions) run(ctx context.Context, arg string, key propagation.TemplateKey, indexed bool) error {
	if _, ok := hub.PlacementKeyOf(key); ok {
		pin := strconv.Itoa(o.index)
		switch {
		case o.revision != 0:
			return usagef("--to-revision is for templates and policies: of a placement, say --to-index")
		case indexed == o.release:
			return usagef("say either --to-index, with the index of a snapshot, or --release")
		case o.release:
			pin = ""
		}
		return o.pin(ctx, key, pin)
	}
	if o.revision == 0 || o.release || indexed {
		return usagef("%q names no placement, and a template or a policy is rolled back with --to-revision", arg)
	}
	if policy, ok := hub.PolicyKeyOf(key); ok {
		return o.restate(ctx, policy, o.revision)
	}
	return o.rewrite(ctx, key, o.revision)
}

// pin makes the placement stay at the snapshot with that index; empty: at none.
func (s *session) pin(ctx context.Context, key propagation.TemplateKey, index string) error {
	h, err := s.hub()
	if err != nil {
		return err
	}
	return again(func() error {
		p, err := placed(ctx, h, key)
		if err != nil {
			return err
		}
		if err := kept(p, key, index); err != nil {
			return err
		}
		if p.Placement.Annotations[placing.AnnotationRollback] != index {
			if _, err := h.CommitPlacement(ctx, p.Placement, pinned(p.Placement, index)); err != nil {
				return err
			}
		}
		if index == "" {
			s.screen.Println(refOf(key) + " is released: its newest snapshot is rolled out")
			return nil
		}
		s.screen.Printf("%s is rolled back to snapshot %s, and stays there: '%s rollback crp/%s --release' goes on\n", refOf(key), index, name, key.Name)
		return nil
	})
}

func pinned(p *placementv1.ClusterResourcePlacement, index string) *placementv1.ClusterResourcePlacement {
	next := *p
	if next.Annotations = maps.Clone(p.Annotations); next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	if next.Annotations[placing.AnnotationRollback] = index; index == "" {
		delete(next.Annotations, placing.AnnotationRollback)
	}
	return &next
}

// kept returns an error if no snapshot with the index is stored.
func kept(p explaining.Placed, key propagation.TemplateKey, index string) error {
	var have []string
	history := p.History()
	slices.Reverse(history) // the oldest first
	for _, r := range history {
		have = append(have, strconv.Itoa(r.Index))
	}
	if index == "" || slices.Contains(have, index) {
		return nil
	}
	var there string
	switch n := len(have); {
	case n == 0:
		there = "there is none yet"
	case n == 1:
		there = "the only one is " + have[0]
	case history[n-1].Index-history[0].Index == n-1:
		there = fmt.Sprintf("there are %s to %s", have[0], have[n-1])
	default:
		there = "there are " + strings.Join(have, ", ")
	}
	return fmt.Errorf("%s has no snapshot %s: %s ('%s history crp/%s')", refOf(key), index, there, name, key.Name)
}
