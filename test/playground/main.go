// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command playground runs Sluice for people and for tests: the lab's hub and
// members, the whole pipeline as one process, the members joined and
// examples/quickstart applied. It is the program behind make run and make demo.
//
// Everything it writes is in one directory, shared with the lab:
//
//	kubeconfig/{hub,member1,…}  written by the lab
//	ready                       there as long as the playground is ready
//	pipeline.pid                of the pipeline's process, for kill
//	pipeline.address            where the pipeline serves /readyz and /metrics
//	log/*.log                   of the pipeline, the lab, the joins
//	playground.sock             how the other commands reach the one that runs
//
// Invariants:
//   - one playground at a time has the directory: it holds the lock;
//   - what it started ends before it does, or with it if it is killed;
//   - a pipeline that died is started again on the same clusters, at the same
//     address; that is told, with the end of its log;
//   - it waits for things that it can see, never for a time to pass.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	defer stop()
	// A second Ctrl-C ends at once; the kernel then ends the children.
	context.AfterFunc(ctx, stop)
	err := root().ExecuteContext(ctx)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		os.Exit(failed.ExitCode()) // it has said why
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "playground:", err)
		os.Exit(1)
	}
}

// endSignals are those that end the playground. A hangup that is ignored, as
// under nohup, stays ignored.
func endSignals() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

func root() *cobra.Command {
	var dir directory
	c := &cobra.Command{
		Use:           "playground",
		Short:         "Sluice with a hub and members, on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.PersistentFlags().StringVar((*string)(&dir), "dir", "_output", "the playground's `directory`")
	c.PersistentPreRunE = func(*cobra.Command, []string) (err error) {
		dir, err = dir.absolute()
		return err
	}
	c.AddCommand(run(&dir), demo(&dir), with(&dir),
		remote(&dir, "pipeline-restart", "Kill the pipeline's process and start it again; returns when it is ready"),
		remote(&dir, "pipeline-flush", "Empty the pipeline's Redis"),
		member(&dir, "member-stop", "Take a member away: its processes end, its data stay"),
		member(&dir, "member-start", "Bring a member back; returns when it is ready"))
	return c
}

func run(dir *directory) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "run",
		Short: "Start all, apply the quickstart and stay until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.play(cmd, *dir, os.Stdout, func(ctx context.Context, s *session) error {
				if err := s.announce(); err != nil {
					return err
				}
				<-ctx.Done()
				return nil
			})
		},
	}
	o.flags(c)
	return c
}

func demo(dir *directory) *cobra.Command {
	o := options{patience: demoPatience}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Start all, apply the quickstart, check what came of it and end",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := o.play(cmd, *dir, os.Stdout, func(context.Context, *session) error { return nil })
			if err == nil {
				fmt.Println("PASS: the quickstart is in every member, available and reported.")
			}
			return err
		},
	}
	o.flags(c)
	return c
}

func with(dir *directory) *cobra.Command {
	o := options{patience: demoPatience}
	c := &cobra.Command{
		Use:     "with -- COMMAND [ARGUMENT…]",
		Short:   "Run a command while a playground is up, this one's or one that is already there",
		Example: "  playground with -- go test ./test/e2e/...",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd, *dir, args)
		},
	}
	o.flags(c)
	return c
}

func remote(dir *directory, name, short string) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return dir.ask(cmd.Context(), name)
		},
	}
}

func member(dir *directory, name, short string) *cobra.Command {
	var bin string
	c := &cobra.Command{
		Use:     name + " MEMBER",
		Short:   short,
		Example: "  playground " + name + " member2",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := dir.ask(cmd.Context(), "ping"); err != nil {
				return err
			}
			path, err := binary(bin, "lab")
			if err != nil {
				return err
			}
			lab := exec.CommandContext(cmd.Context(), path, name, args[0], "--dir", string(*dir))
			lab.Stdout, lab.Stderr = os.Stdout, os.Stderr
			return lab.Run()
		},
	}
	binFlag(c, &bin)
	return c
}
