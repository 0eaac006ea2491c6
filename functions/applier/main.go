// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command applier applies Works to members, unless they are suspended.
package main

import (
	"context"

	"sluice.dev/pkg/connect"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/pkg/redis/suspension"
)

func main() {
	function.Main(applier.Name, func(ctx context.Context) (function.Stage, error) {
		h, err := connect.Hub(ctx, hub.ClusterKind(), hub.InterpreterKind())
		if err != nil {
			return nil, err
		}
		rdb, err := connect.Redis()
		if err != nil {
			return nil, err
		}
		fleet, err := connect.Members(h)
		if err != nil {
			return nil, err
		}
		members := func(ctx context.Context, cluster string) (applier.Member, error) { return fleet.Client(ctx, cluster) }
		return applier.New(h, suspension.New(rdb), members, h.Now).AtOnce(), nil
	})
}
