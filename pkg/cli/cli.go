// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"

	"sluice.dev/pkg/cli/joining"
	"sluice.dev/pkg/cli/screen"
)

// name is the command as people type it.
const name = "kubectl sluice"

// Run executes a command line, and returns the exit code.
func Run(ctx context.Context, streams genericiooptions.IOStreams, args []string) int {
	root := New(streams)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintf(streams.ErrOut, "error: %s\n", explainError(err))
	var usage usageError
	if errors.As(err, &usage) {
		_, _ = fmt.Fprintf(streams.ErrOut, "See '%s --help'.\n", cmd.CommandPath())
	}
	return 1
}

// New returns the command with all of its subcommands.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	root := &cobra.Command{
		Use:         "kubectl-sluice",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: name},
		Short:       "Show and control what Sluice propagates to your clusters",
		Long: `Sluice propagates objects from a hub to member clusters, as policies say, and
lets their owners decide when changes take effect. A template is an object on
the hub that is to be propagated; a policy (pp, or cpp for the whole cluster)
chooses templates and clusters.`,
		Example: examples(`
			# Join a cluster, and see what runs where
			kubectl sluice join member1 --cluster-kubeconfig member1.yaml
			kubectl sluice get -A

			# Ask why an object is where it is, or is not
			kubectl sluice explain deployment/nginx -n shop

			# See what a changed policy would do, and let pending changes take effect
			kubectl sluice diff -f policy.yaml
			kubectl sluice activate --policy pp/nginx -n shop --rate 10/m --wait`),
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	s := &session{flags: genericclioptions.NewConfigFlags(true), streams: streams, screen: screen.New(streams)}
	s.flags.AddFlags(root.PersistentFlags())
	addCommands(root, s)
	root.SetUsageFunc(usage)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	_ = root.RegisterFlagCompletionFunc("namespace", s.completeNamespaces)
	return root
}

func addCommands(root *cobra.Command, s *session) {
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"templates", "Templates:", []*cobra.Command{getCommand(s), explainCommand(s), renderCommand(s), eventsCommand(s), historyCommand(s), suspendCommand(s), resumeCommand(s), rollbackCommand(s)}},
		{"policies", "Policies:", []*cobra.Command{activateCommand(s), diffCommand(s)}},
		{"clusters", "Clusters:", []*cobra.Command{joinCommand(s), unjoinCommand(s), grantCommand(s), approveCommand(s)}},
		{"other", "Other:", []*cobra.Command{interpretCommand(s), versionCommand(s), completionCommand(s), optionsCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, c := range group.commands {
			c.GroupID = group.id
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID("other")
}

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// explainError adds the next step to errors that commonly need one.
func explainError(err error) string {
	var ofMember joining.MemberError
	switch {
	case errors.As(err, &ofMember): // the rest is about the hub
		return err.Error()
	case clientcmd.IsEmptyConfig(err):
		return "no kubeconfig: name the hub's with --kubeconfig FILE, or set KUBECONFIG"
	case utilnet.IsConnectionRefused(err):
		return err.Error() + "\nIs the hub running, and is it the one that --kubeconfig and --context name?"
	case apierrors.IsUnauthorized(err):
		return err.Error() + "\nThe hub does not accept these credentials: are they still valid?"
	}
	return err.Error()
}

// examples replaces the indentation of a raw string by that of help texts.
func examples(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		if l = strings.TrimSpace(l); l != "" {
			l = "  " + l
		}
		lines[i] = l
	}
	return strings.Join(lines, "\n")
}

// optionsCommand lists the flags that every command has.
func optionsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "options", Short: "List the flags that every command has", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "Every command has these flags:\n\n%s", cmd.Root().PersistentFlags().FlagUsages())
			return err
		},
	}
}
