// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
)

// The output formats.
const (
	formatWide = "wide"
	formatName = "name"
	formatJSON = "json"
	formatYAML = "yaml"
)

// output is the flag -o.
type output struct {
	format  string
	allowed []string
}

// addTo adds the flag to a command.
func (o *output) addTo(cmd *cobra.Command, allowed ...string) {
	o.allowed = allowed
	cmd.Flags().VarP(o, "output", "o", "output format: "+strings.Join(allowed, ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

// String returns the format. String, Set and Type implement a flag.
func (o *output) String() string { return o.format }

// Set checks the format.
func (o *output) Set(format string) error {
	if !slices.Contains(o.allowed, format) {
		return fmt.Errorf("want one of %s", strings.Join(o.allowed, ", "))
	}
	o.format = format
	return nil
}

// Type is shown in help.
func (o *output) Type() string { return "format" }

// forMachines reports whether a program reads the output.
func (o *output) forMachines() bool { return o.format == formatJSON || o.format == formatYAML }

func (o *output) wide() bool { return o.format == formatWide }

// age returns the time since t as kubectl shows it.
func age(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return duration.HumanDuration(time.Since(t))
}

// some returns the first names of a list, and how many more there are.
func some(names []string, limit int) string {
	if len(names) <= limit {
		return strings.Join(names, ",")
	}
	return fmt.Sprintf("%s,+%d", strings.Join(names[:limit], ","), len(names)-limit)
}

// noun returns a number with its noun in singular or plural.
func noun(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
