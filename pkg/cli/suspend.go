// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/gating"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// suspendCommand suspends a placement or a template.
func suspendCommand(s *session) *cobra.Command {
	var clusters []string
	cmd := &cobra.Command{
		Use:   "suspend crp/NAME | KIND/NAME",
		Short: "Suspend a placement or a template, in all members or in some",
		Long: `Suspend a placement: none of its objects is written in its members, or in those
that --cluster names, until it is resumed. Objects that exist there stay. The
placement has the annotation ` + propagation.AnnotationSuspended + ` as long as
it is suspended.

Or suspend one template, whatever its policy says, while the policy's other
templates are still propagated. The template and its binding have the
annotation, and 'kubectl sluice explain' shows it.

What a policy suspends is set in the policy: edit its spec.suspension.`,
		Example: examples(`
			kubectl sluice suspend crp/shop
			kubectl sluice suspend deployment/nginx -n shop

			# In one member only
			kubectl sluice suspend crp/shop --cluster member1`),
		Args:              oneArg("crp/NAME or KIND/NAME"),
		ValidArgsFunction: s.completeObjects(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := s.objects(args)
			if err != nil {
				return err
			}
			h, err := s.hub()
			if err != nil {
				return err
			}
			if err := areJoined(cmd.Context(), h, clusters); err != nil {
				return err
			}
			if _, ok := hub.PlacementKeyOf(keys[0]); ok {
				return s.suspendPlacement(cmd.Context(), keys[0], func(was string) (string, error) { return explaining.Suspend(was, clusters), nil })
			}
			if _, ok := hub.PolicyKeyOf(keys[0]); ok {
				return usagef("a policy says itself what is suspended: edit its spec.suspension")
			}
			if why := matching.Exempt(keys[0]); why != "" {
				return usagef("%s is no template, so nothing of it is held back: %s", refOf(keys[0]), why)
			}
			return again(func() error { return s.suspendTemplate(cmd.Context(), h, keys[0], clusters) })
		},
	}
	s.onClusters(cmd, &clusters, "suspend in these members only")
	return cmd
}

// areJoined refuses names of clusters that are not joined: a misspelled name would
// suspend nothing.
func areJoined(ctx context.Context, h *hub.Hub, clusters []string) error {
	for _, c := range clusters {
		_, err := h.Cluster(ctx, c)
		if errors.Is(err, outcome.ErrGone) {
			_, err = h.Member(ctx, c) // only placements may know it
		}
		if errors.Is(err, outcome.ErrGone) {
			return notJoined(c)
		}
		if err != nil {
			return installed(err)
		}
	}
	return nil
}

func notJoined(cluster string) error {
	return fmt.Errorf("cluster %s has not joined: '%s get clusters' lists those that have", cluster, name)
}

// suspendTemplate suspends one template: on its binding first, which is checked before
// each write to a member, and then on the template, which outlives the binding.
func (s *session) suspendTemplate(ctx context.Context, h *hub.Hub, key propagation.TemplateKey, clusters []string) error {
	sub, err := subject(ctx, h, key)
	if err != nil {
		return notFound(key, err)
	}
	was := sub.SuspendedIn()
	is := explaining.Suspend(was, clusters)
	if b := sub.Binding; b != nil {
		next := b.WithSuspendedIn(is)
		next.Spec.Suspension = gating.Suspend(b.Spec.Suspension, is)
		if _, err := h.CommitBinding(ctx, b, next); err != nil {
			return err
		}
	}
	if _, err := h.CommitSuspended(ctx, sub.Template, is); err != nil {
		return err
	}
	s.screen.Println(refOf(key) + " " + suspensionSays(was, is))
	return nil
}

// lift removes the template's own suspension, or the clusters from it; false: there is
// none. The template is written first, so that the template stays suspended if the
// second write fails.
func (s *session) lift(ctx context.Context, h *hub.Hub, key propagation.TemplateKey, sub explaining.Subject, clusters []string) (bool, error) {
	was := sub.SuspendedIn()
	if was == "" {
		return false, nil
	}
	is, err := explaining.Resume(was, clusters)
	if err != nil {
		return true, err
	}
	if _, err := h.CommitSuspended(ctx, sub.Template, is); err != nil {
		return true, err
	}
	if b := sub.Binding; b != nil {
		next := b.WithSuspendedIn(is)
		if !sub.Template.Claim.Held() { // otherwise Sluice takes it from the policy
			next.Spec.Suspension = gating.Suspend(schedulingOf(b), is)
		}
		if _, err := h.CommitBinding(ctx, b, next); err != nil {
			return true, err
		}
	}
	s.screen.Println(refOf(key) + " " + suspensionSays(was, is))
	return true, nil
}

// schedulingOf returns the part of the binding's suspension that suspends scheduling.
func schedulingOf(b *propagation.Binding) *workv1alpha2.Suspension {
	if b.Spec.Suspension == nil || b.Spec.Suspension.Scheduling == nil {
		return nil
	}
	return &workv1alpha2.Suspension{Scheduling: b.Spec.Suspension.Scheduling}
}

// rewrite sets the template's content to that of a revision.
func (s *session) rewrite(ctx context.Context, key propagation.TemplateKey, revision int64) error {
	h, err := s.hub()
	if err != nil {
		return err
	}
	return again(func() error {
		sub, err := subject(ctx, h, key)
		if err != nil {
			return notFound(key, err)
		}
		if sub.Binding == nil {
			return fmt.Errorf("%s has no binding, and so no revisions", refOf(key))
		}
		r, err := revisionOf(ctx, h, sub.Binding, key, revision)
		if err != nil {
			return err
		}
		if is, was := sub.Template.Object["apiVersion"], r.Content["apiVersion"]; is != was {
			return fmt.Errorf("revision %d of %s is of %v, and the hub serves it as %v: '%s history %s --revision %d' shows what it says", revision, refOf(key), was, is, name, refOf(key), revision)
		}
		if _, err := h.CommitContent(ctx, sub.Template, r.Content); err != nil {
			return err
		}
		let := "it is let through as its policy says"
		switch p, err := holder(ctx, h, sub.Template); {
		case err != nil || p != nil:
		case len(sub.Binding.Spec.RequiredBy) > 0:
			let = "it follows the templates that refer to it"
		default:
			let = string(gating.NoPolicy) + ": no policy holds it, so members keep what they have until one does"
		}
		s.screen.Printf("%s says again what revision %d says: %s\n", refOf(key), revision, let)
		return nil
	})
}

func revisionOf(ctx context.Context, h *hub.Hub, b *propagation.Binding, key propagation.TemplateKey, revision int64) (*propagation.Revision, error) {
	all, err := h.Revisions(ctx, b)
	if err != nil {
		return nil, err
	}
	var kept []string
	for _, r := range all {
		if b.Genuine(r) != nil {
			continue
		}
		if r.Number == revision {
			return r, nil
		}
		kept = append(kept, strconv.FormatInt(r.Number, 10))
	}
	return nil, fmt.Errorf("%s has no revision %d: there are %s ('%s history %s%s')", refOf(key), revision, strings.Join(kept, ", "), name, refOf(key), inNamespace(key.Namespace))
}
