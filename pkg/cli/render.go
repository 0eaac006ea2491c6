// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/hub"
)

type renderOptions struct {
	*session
	output
	cluster  string
	with     string
	released bool
	secrets  bool
}

func renderCommand(s *session) *cobra.Command {
	o := &renderOptions{session: s}
	cmd := &cobra.Command{
		Use:   "render KIND/NAME | crp/NAME --cluster MEMBER",
		Short: "Show what a member gets from a template or a placement",
		Long: `Show what a member gets from a template, or would get with an override that is
not applied yet: the content in force, without fields that the hub assigned,
with the member's number of replicas, with overrides, and with the labels and
annotations of the released API. It is rendered by the functions that Sluice
itself uses; nothing is written. What the applier adds, such as the label by
which it finds the object again, is not shown.

The override policy of --with, of either scope, is used in addition to those on
the hub, or in place of the one with its name. The hub validates it as it would
on apply.

Of a ClusterResourcePlacement, show what its Works for the member contain: the
snapshot that was rolled out there, with the overrides of that time. With
--released, show the newest snapshot, with the present overrides.

The values of Secrets are shown as *** unless --show-secrets is set.`,
		Example: examples(`
			kubectl sluice render deployment/nginx -n shop --cluster member1

			# Try an override before it is applied
			kubectl sluice render deployment/nginx -n shop --cluster member1 --with override.yaml

			# Once pending changes have taken effect
			kubectl sluice render deployment/nginx -n shop --cluster member1 --released

			# What a placement has rolled out to a member
			kubectl sluice render crp/shop --cluster member1`),
		Args:              oneArg("KIND/NAME or crp/NAME"),
		ValidArgsFunction: s.completeObjects(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.cluster == "" {
				return usagef("--cluster is missing: it names the member")
			}
			keys, err := s.objects(args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), keys[0])
		},
	}
	cmd.Flags().StringVar(&o.cluster, "cluster", "", "the member")
	_ = cmd.RegisterFlagCompletionFunc("cluster", func(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		return s.completeClusters(cmd, nil, toComplete)
	})
	cmd.Flags().StringVar(&o.with, "with", "", "file with an override policy to try; - is the standard input")
	_ = cmd.MarkFlagFilename("with", "yaml", "yml", "json")
	cmd.Flags().BoolVar(&o.released, "released", false, "as if pending changes had taken effect")
	cmd.Flags().BoolVar(&o.secrets, "show-secrets", false, "show the values of Secrets, too")
	o.addTo(cmd, formatYAML, formatJSON)
	return cmd
}

func (o *renderOptions) run(ctx context.Context, key propagation.TemplateKey) error {
	h, err := o.hub()
	if err != nil {
		return err
	}
	if _, ok := hub.PlacementKeyOf(key); ok {
		return o.placement(ctx, h, key)
	}
	with, err := o.override(ctx)
	if err != nil {
		return err
	}
	sub, err := subject(ctx, h, key)
	if err != nil {
		return notFound(key, err)
	}
	if sub.Revision, err = inForce(ctx, h, sub.Binding); err != nil {
		return err
	}
	w, err := world(ctx, h)
	if err != nil {
		return err
	}
	overrides, err := h.Overrides(ctx, key.Namespace)
	if err != nil {
		return fmt.Errorf("list overrides: %w", installed(err))
	}
	manifest, err := o.manifest(w, sub, instead(overrides, with...))
	if err != nil {
		return err
	}
	for _, added := range with {
		if !rendering.Selects(added, sub.Template.Key, sub.Template.Labels) {
			o.screen.Note("The override %s does not select %s, and changes nothing here.", added.Key, where(key))
		}
	}
	if !o.secrets {
		manifest = explaining.Masked(manifest)
	}
	return o.screen.Encode(cmp.Or(o.format, formatYAML), manifest)
}

// manifest returns what the member gets; an error says why it gets nothing.
func (o *renderOptions) manifest(w explaining.World, sub explaining.Subject, overrides []propagation.Override) (map[string]any, error) {
	key := sub.Template.Key
	i := slices.IndexFunc(w.Clusters, func(c *clusterv1alpha1.Cluster) bool { return c.Name == o.cluster })
	if i < 0 {
		return nil, notJoined(o.cluster)
	}
	binding, waits := w.Coming(sub), w.Waits(sub)
	if o.released {
		binding = w.Eventually(sub)
	} else if waits != "" {
		o.screen.Note("Something waits, and is not shown (--released shows it): %s", waits)
	}
	all, err := w.Render(sub, binding, overrides)
	if err != nil {
		return nil, err
	}
	if err := all.Failures[o.cluster]; err != nil {
		return nil, fmt.Errorf("%s cannot be rendered for %s: %w", where(key), o.cluster, err)
	}
	if manifest := all.Manifests[o.cluster]; manifest != nil {
		return manifest, nil
	}
	return nil, fmt.Errorf("%s gets nothing of %s: %s ('%s explain %s%s' says more)", o.cluster, where(key), w.WhyNot(binding, w.Clusters[i]), name, refOf(key), inNamespace(key.Namespace))
}

// override returns the one to try; none if --with is not set.
func (o *renderOptions) override(ctx context.Context) ([]propagation.Override, error) {
	if o.with == "" {
		return nil, nil
	}
	objects, err := o.objectsIn(o.with)
	if err != nil {
		return nil, err
	}
	if len(objects) != 1 {
		return nil, fmt.Errorf("%s holds %s: --with takes one override policy", o.with, noun(len(objects), "object", "objects"))
	}
	u := objects[0]
	if _, ok := overrideKeyOf(u); !ok {
		return nil, fmt.Errorf("%s holds a %s: --with takes an override policy, of either scope, with a name", o.with, described(u))
	}
	override, err := o.plannedOverride(ctx, u)
	if err != nil {
		return nil, err
	}
	return []propagation.Override{override}, nil
}

// instead returns all with these added, or in place of those with the same key.
func instead(all []propagation.Override, these ...propagation.Override) []propagation.Override {
	out := slices.DeleteFunc(slices.Clone(all), func(o propagation.Override) bool {
		return slices.ContainsFunc(these, func(t propagation.Override) bool { return t.Key == o.Key })
	})
	return append(out, these...)
}
