// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"sluice.dev/pkg/core/propagation"
)

// Completion never reports errors: what cannot be read is not offered.

// completeObjects offers propagated objects, as KIND/NAME, and policies if the command
// accepts them.
func (s *session) completeObjects(policies bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		refs := s.templateRefs(cmd.Context())
		if policies {
			refs = append(refs, s.policyRefs(cmd.Context())...)
		}
		return offer(refs, args, toComplete)
	}
}

// offer completes the kind first, then the name.
func offer(refs, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	kinds, found := map[string]bool{}, []string(nil)
	for _, ref := range refs {
		if !strings.HasPrefix(ref, toComplete) || slices.Contains(args, ref) {
			continue
		}
		kind, _, _ := strings.Cut(ref, "/")
		kinds[kind+"/"] = true
		found = append(found, ref)
	}
	if !strings.Contains(toComplete, "/") && len(kinds) > 1 {
		return slices.Sorted(maps.Keys(kinds)), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
	slices.Sort(found)
	return found, cobra.ShellCompDirectiveNoFileComp
}

func (s *session) templateRefs(ctx context.Context) []string {
	namespace, err := s.namespace()
	if err != nil {
		return nil
	}
	h, err := s.hub()
	if err != nil {
		return nil
	}
	bindings, err := h.Bindings(ctx)
	if err != nil {
		return nil
	}
	var refs []string
	for _, b := range bindings {
		if k := b.Template(); k.Namespace == "" || k.Namespace == namespace {
			refs = append(refs, refOf(k))
		}
	}
	return refs
}

func (s *session) policyRefs(ctx context.Context) []string {
	namespace, err := s.namespace()
	if err != nil {
		return nil
	}
	h, err := s.hub()
	if err != nil {
		return nil
	}
	policies, err := h.Policies(ctx)
	if err != nil {
		return nil
	}
	var refs []string
	for _, p := range policies {
		if p.Key.Scope == propagation.Cluster || p.Key.Namespace == namespace {
			refs = append(refs, policyRef(p.Key))
		}
	}
	return refs
}

func (s *session) completePolicies(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	return offer(s.policyRefs(cmd.Context()), nil, toComplete)
}

func (s *session) completeClusters(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	h, err := s.hub()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	clusters, err := h.Clusters(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, c := range clusters {
		names = append(names, c.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (s *session) completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	kube, err := s.kube()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := kube.CoreV1().Namespaces().List(cmd.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, ns := range list.Items {
		names = append(names, ns.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeContexts offers the contexts of the kubeconfig that a flag names.
func completeContexts(fileFlag string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		kc, err := clientcmd.LoadFromFile(cmd.Flag(fileFlag).Value.String())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.Sorted(maps.Keys(kc.Contexts)), cobra.ShellCompDirectiveNoFileComp
	}
}
