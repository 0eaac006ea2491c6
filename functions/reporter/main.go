// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command reporter collects the status of objects in members.
package main

import (
	"context"

	"sluice.dev/pkg/connect"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/reporter"
)

func main() {
	function.Main(reporter.Name, func(ctx context.Context) (function.Stage, error) {
		h, err := connect.Hub(ctx, hub.ClusterKind(), hub.InterpreterKind())
		if err != nil {
			return nil, err
		}
		fleet, err := connect.Members(h)
		if err != nil {
			return nil, err
		}
		members := func(ctx context.Context, cluster string) (reporter.Member, error) { return fleet.Client(ctx, cluster) }
		return reporter.New(h, members, h.Now), nil
	})
}
