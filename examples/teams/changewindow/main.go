// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command changewindow is a gate of a team's own: what is claimed for its
// templates comes into force in working time only. It stands in front of
// Sluice's gate, where all roads to what is in force meet, and Sluice knows
// nothing of it: two Triggers lead the team's events through it.
package main

import (
	"context"
	"os"
	"time"
	_ "time/tzdata" // the image has no time zones

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/clientcmd"

	"sluice.dev/pkg/function"
)

func main() {
	function.Main(name, func(context.Context) (function.Stage, error) {
		cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
		if err != nil {
			return nil, err
		}
		h, err := connect(cfg, os.Getenv("NAMESPACE"))
		if err != nil {
			return nil, err
		}
		return New(h, function.Publisher(), time.Now, prometheus.DefaultRegisterer), nil
	})
}
