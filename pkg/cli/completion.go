// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"
)

// kubectlScript is what kubectl runs to complete the words after the plug-in's name.
const kubectlScript = `#!/bin/sh
# Put this into a file kubectl_complete-sluice that is executable and in PATH.
exec kubectl-sluice __complete "$@"
`

func completionCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a script that completes this command in a shell",
		Long: `Print a script that completes commands, flags and the names of templates,
policies and clusters. SHELL is kubectl, bash, zsh, fish or powershell: kubectl
completes "kubectl sluice", the others "kubectl-sluice".`,
		Example: examples(`
			# For "kubectl sluice", in any shell that completes kubectl
			kubectl sluice completion kubectl > ~/bin/kubectl_complete-sluice
			chmod +x ~/bin/kubectl_complete-sluice

			# For "kubectl-sluice", in this bash
			source <(kubectl sluice completion bash)`),
		ValidArgs: []string{"kubectl", "bash", "zsh", "fish", "powershell"},
		Args:      oneArg("SHELL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, root := s.streams.Out, cmd.Root()
			switch args[0] {
			case "kubectl":
				s.screen.Printf("%s", kubectlScript)
				return nil
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return usagef("unknown shell %q: want kubectl, bash, zsh, fish or powershell", args[0])
		},
	}
}

// noArgs, someArgs and oneArg refuse other numbers of arguments.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0])
	}
	return nil
}

func someArgs(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("%s is missing", what)
		}
		return nil
	}
}

func oneArg(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usagef("%s is missing", what)
		case len(args) > 1:
			return usagef("unexpected argument %q", args[1])
		}
		return nil
	}
}
