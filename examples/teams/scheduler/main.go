// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command scheduler is a scheduler of a team's own: templates of policies with
// schedulerName "cheapest" go to the cheapest cluster that their placement
// allows. It takes the event that Sluice's scheduler leaves alone, writes
// spec.clusters, and emits what Sluice's renderer takes.
package main

import (
	"context"
	"os"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"sluice.dev/pkg/function"
)

func main() {
	function.Main(Scheduler, func(context.Context) (function.Stage, error) {
		cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
		if err != nil {
			return nil, err
		}
		hub, err := dynamic.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		return &Stage{hub: hub, namespace: os.Getenv("NAMESPACE"), now: time.Now}, nil
	})
}
