// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/cli/joining"
	"sluice.dev/pkg/core/kinds"
)

func grantCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "grant KIND...",
		Short: "Print the roles that let Sluice propagate objects of a kind",
		Long: `Print, as YAML, the roles that let Sluice read, watch and claim objects of a
kind on the hub, and write their status; of a kind whose replicas members may
change, also their number of replicas. Nothing is written: check the output, and
apply it.

On Knative each function has an account of its own, whose rights to templates
these roles define; those for common kinds are part of the installation. A
policy that names a kind without such roles has the condition KindsGranted with
status False.

Secrets are granted in one namespace at a time, named with --namespace.`,
		Example: examples(`
			kubectl sluice grant widgets.example.com | kubectl apply -f -
			kubectl sluice grant clusterroles namespaces
			kubectl sluice grant secrets -n shop`),
		Args: someArgs("KIND"),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := s.granted(args)
			if err != nil {
				return err
			}
			raw, err := joining.Grant(all, *s.flags.Namespace)
			if err != nil {
				return usageError{err}
			}
			s.screen.Printf("%s", raw)
			return nil
		},
	}
	return cmd
}

// granted finds kinds by any name that kubectl knows.
func (s *session) granted(args []string) ([]joining.Granted, error) {
	h, err := s.hub()
	if err != nil {
		return nil, err
	}
	var out []joining.Granted
	for _, arg := range args {
		m, err := s.kind(arg)
		if err != nil {
			return nil, err
		}
		out = append(out, joining.Granted{
			GroupResource: schema.GroupResource{Group: m.Resource.Group, Resource: m.Resource.Resource},
			Status:        h.HasStatus(m.GroupVersionKind),
			Scales:        kinds.Named(m.GroupVersionKind.GroupKind()).Scales(),
		})
	}
	return out, nil
}
