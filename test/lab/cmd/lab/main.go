// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command lab starts, shows and ends the test clusters: a hub and its members.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sluice.dev/test/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := root().ExecuteContext(ctx); err != nil {
		if !errors.Is(err, errNotUp) {
			fmt.Fprintln(os.Stderr, "lab:", err)
		}
		os.Exit(1)
	}
}

// errNotUp makes status exit with 1 without another word.
var errNotUp = errors.New("not up")

func root() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:           "lab",
		Short:         "A hub and member clusters on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.PersistentFlags().StringVar(&dir, "dir", "_output", "the lab's `directory`: kubeconfig/NAME, lab/NAME/*.log")
	open := func(cmd *cobra.Command) (*lab.Lab, error) { return lab.Open(dir, cmd.OutOrStdout()) }
	c.AddCommand(up(open), down(open), status(open),
		member(open, "member-stop", "End a cluster's processes; its data and its address stay", (*lab.Lab).Stop),
		member(open, "member-start", "Start a stopped cluster again; returns when it is ready", (*lab.Lab).Start))
	return c
}

type opener func(*cobra.Command) (*lab.Lab, error)

func up(open opener) *cobra.Command {
	var o lab.Options
	c := &cobra.Command{
		Use:   "up",
		Short: "Start the lab, or what it lacks; returns when it is ready",
		Args:  cobra.NoArgs,
		Example: `  lab up --members 3
  lab up --foreground     # until Ctrl-C, which ends it`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Members < 0 {
				return fmt.Errorf("--members %d: must not be negative", o.Members)
			}
			kube, err := binary(o.Kube)
			if err != nil {
				return err
			}
			o.Kube = kube
			l, err := open(cmd)
			if err != nil {
				return err
			}
			return l.Up(cmd.Context(), o)
		},
	}
	c.Flags().StringVar(&o.Kube, "kube", "", "`path` of the kube binary (default: beside this program)")
	c.Flags().IntVar(&o.Members, "members", 3, "`number` of member clusters")
	c.Flags().BoolVar(&o.Audit, "audit", false, "write audit logs, one line a request: lab/NAME/audit.log")
	c.Flags().BoolVar(&o.Foreground, "foreground", false, "stay, report a component that dies, end all on SIGINT or SIGTERM")
	return c
}

// binary finds the kube binary and makes its path absolute.
func binary(path string) (string, error) {
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		path = filepath.Join(filepath.Dir(self), "kube")
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the kube binary is missing (test/lab/build.sh builds it): %w", err)
	}
	return filepath.Abs(path)
}

func down(open opener) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End everything that up started; the logs stay",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := open(cmd)
			if err != nil {
				return err
			}
			return l.Down(cmd.Context())
		},
	}
}

func member(open opener, use, short string, do func(*lab.Lab, context.Context, string) error) *cobra.Command {
	return &cobra.Command{
		Use:     use + " NAME",
		Short:   short,
		Long:    short + ". NAME may be hub, too.",
		Example: "  lab " + use + " member2",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open(cmd)
			if err != nil {
				return err
			}
			return do(l, cmd.Context(), args[0])
		},
	}
}

func status(open opener) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the clusters; exits with 1 unless all are up",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := open(cmd)
			if err != nil {
				return err
			}
			st, err := l.Status(cmd.Context())
			if err != nil {
				return err
			}
			switch output {
			case "":
				err = table(cmd.OutOrStdout(), st)
			case "json":
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				err = enc.Encode(st)
			default:
				err = fmt.Errorf("--output %s: json is the only one", output)
			}
			if err == nil && !st.Up {
				err = errNotUp
			}
			return err
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "json, or nothing for a table")
	return c
}

func table(out io.Writer, st *lab.Status) error {
	if len(st.Clusters) == 0 {
		_, err := fmt.Fprintln(out, "The lab is not up.")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tSERVER\tKUBECONFIG\tPROCESSES (pid, MiB)")
	for _, c := range st.Clusters {
		var procs []string
		for _, p := range c.Components {
			if p.Up {
				procs = append(procs, fmt.Sprintf("%s (%d, %d)", p.Name, p.PID, p.RSSMiB))
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", c.Name, c.State, c.Server, relative(c.Kubeconfig), strings.Join(procs, " "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, c := range st.Clusters {
		if c.Reason != "" {
			fmt.Fprintf(out, "%s: %s\n", c.Name, c.Reason)
		}
	}
	return nil
}

// relative shortens a path below the working directory.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
