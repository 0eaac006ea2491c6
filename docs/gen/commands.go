// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"sluice.dev/pkg/cli"
)

// commandsPage is docs/commands.md: what --help says of each command.
func commandsPage() []byte {
	root := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard})
	out := &bytes.Buffer{}
	fmt.Fprintf(out, "<!-- generated from the commands' own help: go generate ./docs/gen -->\n\n# Commands\n\n%s\n\n", paragraphs(root.Long))
	fence(out, "sh", root.Example)
	for _, g := range root.Groups() {
		fmt.Fprintf(out, "| %s | |\n|---|---|\n", strings.TrimSuffix(g.Title, ":"))
		for _, c := range root.Commands() {
			if c.GroupID == g.ID && c.IsAvailableCommand() {
				fmt.Fprintf(out, "| [%s](#%s) | %s |\n", c.Name(), anchor(c), escape(c.Short))
			}
		}
		fmt.Fprintln(out)
	}
	for _, g := range root.Groups() {
		for _, c := range root.Commands() {
			if c.GroupID == g.ID && c.IsAvailableCommand() {
				describe(out, c)
			}
		}
	}
	fmt.Fprint(out, "## Flags that every command has\n\n")
	fence(out, "", anywhere(root.PersistentFlags().FlagUsages()))
	return append(bytes.TrimSpace(out.Bytes()), '\n')
}

// describe writes the section of a command, and those of its own commands.
func describe(out io.Writer, c *cobra.Command) {
	_, _ = fmt.Fprintf(out, "## %s\n\n", title(c))
	if c.Long != "" {
		_, _ = fmt.Fprintf(out, "%s\n\n", paragraphs(c.Long))
	} else {
		_, _ = fmt.Fprintf(out, "%s.\n\n", escape(c.Short))
	}
	fence(out, "", strings.TrimSuffix(c.UseLine(), " [flags]"))
	fence(out, "sh", c.Example)
	flags := pflag.NewFlagSet(c.Name(), pflag.ContinueOnError)
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			flags.AddFlag(f)
		}
	})
	fence(out, "", anywhere(flags.FlagUsages()))
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			describe(out, sub)
		}
	}
}

func title(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), "kubectl ") }

func anchor(c *cobra.Command) string { return strings.ReplaceAll(title(c), " ", "-") }

// fence writes text as it stands.
func fence(out io.Writer, language, text string) {
	if text = strings.TrimRight(text, "\n "); strings.TrimSpace(text) != "" {
		_, _ = fmt.Fprintf(out, "```%s\n%s\n```\n\n", language, unindented(text))
	}
}

// unindented takes off what all lines are indented by.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	least := len(text)
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			least = min(least, len(l)-len(strings.TrimLeft(l, " ")))
		}
	}
	for i, l := range lines {
		lines[i] = l[min(least, len(l)):]
	}
	return strings.Join(lines, "\n")
}

// paragraphs are those of a help text, each on one line.
func paragraphs(text string) string {
	all := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, p := range all {
		if !strings.HasPrefix(p, " ") {
			p = strings.ReplaceAll(p, "\n", " ")
		}
		all[i] = escape(p)
	}
	return strings.Join(all, "\n\n")
}

// escape keeps text from being read as Markdown.
var escape = strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "|", `\|`, "`", "\\`").Replace

// anywhere has the home of who generates it not stand in it.
func anywhere(text string) string {
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		return strings.ReplaceAll(text, home, "$HOME")
	}
	return text
}
