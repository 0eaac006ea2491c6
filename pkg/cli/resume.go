// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

func resumeCommand(s *session) *cobra.Command {
	var clusters []string
	cmd := &cobra.Command{
		Use:   "resume KIND/NAME | crp/NAME",
		Short: "Resume a placement or a template that was suspended",
		Long: `Resume a template that was suspended by itself, with 'kubectl sluice suspend';
or remove a suspension that stayed when the policy that asked for it was
deleted. Pending writes to the members are made at once. While a policy holds
the template, that policy says what else is suspended: edit its spec.suspension.

Or resume a placement that was suspended, in all members or in those that
--cluster names.`,
		Example: examples(`
			kubectl sluice resume deployment/nginx -n shop
			kubectl sluice resume crp/shop --cluster member1`),
		Args:              oneArg("KIND/NAME"),
		ValidArgsFunction: s.completeObjects(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := s.objects(args)
			if err != nil {
				return err
			}
			if _, ok := hub.PlacementKeyOf(keys[0]); ok {
				return s.suspendPlacement(cmd.Context(), keys[0], func(was string) (string, error) { return explaining.Resume(was, clusters) })
			}
			if _, ok := hub.PolicyKeyOf(keys[0]); ok {
				return usagef("a policy says itself what is suspended: edit its spec.suspension")
			}
			h, err := s.hub()
			if err != nil {
				return err
			}
			return again(func() error { return s.resume(cmd.Context(), h, keys[0], clusters) })
		},
	}
	s.onClusters(cmd, &clusters, "resume in these members only")
	return cmd
}

func (s *session) resume(ctx context.Context, h *hub.Hub, key propagation.TemplateKey, clusters []string) error {
	sub, err := subject(ctx, h, key)
	if err != nil {
		return notFound(key, err)
	}
	if lifted, err := s.lift(ctx, h, key, sub, clusters); lifted || err != nil {
		return err
	}
	b := sub.Binding
	free := b == nil || explaining.Suspended(b.Spec.Suspension) == "none"
	var p *propagation.Policy
	if !free || len(clusters) > 0 {
		if p, err = holder(ctx, h, sub.Template); err != nil {
			return err
		}
	}
	switch {
	case len(clusters) > 0 && p != nil:
		return usagef("nobody suspended %s alone: its policy says itself where its templates are suspended", refOf(key))
	case len(clusters) > 0 && !free:
		return usagef("a policy that holds %s no longer suspended it in %s: without --cluster, all of that is resumed", refOf(key), explaining.Suspended(b.Spec.Suspension))
	case free:
		s.screen.Println(refOf(key) + " is not suspended")
		return nil
	case p != nil:
		return suspendedBy(p, b)
	}
	next := *b
	next.Spec.Suspension = nil
	if own := b.Spec.Suspension.Scheduling; own != nil {
		next.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: own}
	}
	if _, err := h.CommitBinding(ctx, b, next.Asking()); err != nil {
		return err
	}
	s.screen.Printf("%s is resumed: what was held back in %s goes on\n", refOf(key), explaining.Suspended(b.Spec.Suspension))
	return nil
}

// holder returns the policy that holds the template; nil: none does.
func holder(ctx context.Context, h *hub.Hub, t *propagation.Template) (*propagation.Policy, error) {
	if !t.Claim.Held() {
		return nil, nil
	}
	p, err := h.Policy(ctx, t.Claim.Policy)
	if errors.Is(err, outcome.ErrGone) || err == nil && !t.Claim.By(p) {
		return nil, nil
	}
	return p, err
}

// suspendedBy returns the error that a policy holds the template and suspends it.
func suspendedBy(p *propagation.Policy, b *propagation.Binding) error {
	if all, names := p.Spec.Suspension.Dispatch(); all || len(names) > 0 {
		return fmt.Errorf("%s suspends it (%s): edit spec.suspension there, 'kubectl edit %s%s'",
			p.Key, explaining.Suspended(b.Spec.Suspension), policyRef(p.Key), inNamespace(p.Key.Namespace))
	}
	return fmt.Errorf("%s holds the template and suspends nothing: Sluice is about to lift the suspension. If it does not, is Sluice running?", p.Key)
}
