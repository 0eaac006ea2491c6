// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-sluice is the plug-in `kubectl sluice`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"sluice.dev/pkg/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	code := cli.Run(ctx, streams, os.Args[1:])
	stop()
	os.Exit(code)
}
