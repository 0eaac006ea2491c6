// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// usage writes how a command is used: like cobra, but without the flags of kubectl,
// which `options` lists. It does not use a template: templates look methods up by name,
// so the linker would have to keep every method of every type, which is a third of the
// program.
func usage(c *cobra.Command) error {
	out := &strings.Builder{}
	out.WriteString("Usage:")
	if c.Runnable() {
		out.WriteString("\n  " + c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		out.WriteString("\n  " + c.CommandPath() + " [command]")
	}
	if c.HasExample() {
		out.WriteString("\n\nExamples:\n" + c.Example)
	}
	for _, g := range c.Groups() {
		out.WriteString("\n\n" + g.Title)
		for _, sub := range c.Commands() {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(out, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if c.HasParent() && c.HasAvailableLocalFlags() {
		out.WriteString("\n\nFlags:\n" + strings.TrimRight(c.LocalFlags().FlagUsages(), " \n"))
	}
	fmt.Fprintf(out, "\n\nUse \"%s options\" for the flags that every command has (-n, --kubeconfig, --context, ...).\n", c.Root().CommandPath())
	_, err := io.WriteString(c.OutOrStderr(), out.String())
	return err
}
