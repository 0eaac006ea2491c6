// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Name of the webhook configurations of an installation.
const Name = "sluice"

// Main serves the webhook that build makes for the hub, until SIGTERM or
// SIGINT. It ends the process with status 1 where that cannot be.
func Main(build func(hub *rest.Config) (http.Handler, error)) {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, log, build); err != nil {
		log.Error("webhook failed", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, log *slog.Logger, build func(*rest.Config) (http.Handler, error)) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return fmt.Errorf("find the hub (KUBECONFIG): %w", err)
	}
	h, err := build(cfg)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("connect to the hub: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+cmp.Or(os.Getenv("PORT"), "8443"))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	keeper := NewKeeper(client, Name, time.Now)
	go keeper.Run(ctx, func(err error) { log.Warn("certificate not kept", "error", err) })
	log.Info("webhook listens", "address", l.Addr().String())
	return Serve(ctx, l, h, keeper.Certificate)
}
