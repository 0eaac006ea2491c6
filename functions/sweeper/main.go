// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command sweeper finds what was missed.
package main

import (
	"context"
	"time"

	"sluice.dev/pkg/claims"
	"sluice.dev/pkg/connect"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/sweeper"
	"sluice.dev/pkg/positions"
)

func main() {
	function.Main(sweeper.Name, func(ctx context.Context) (function.Stage, error) {
		h, err := connect.Hub(ctx, hub.ClusterKind())
		if err != nil {
			return nil, err
		}
		rdb, err := connect.Redis()
		if err != nil {
			return nil, err
		}
		src, err := connect.Sources(h)
		if err != nil {
			return nil, err
		}
		fleet, err := connect.Members(h)
		if err != nil {
			return nil, err
		}
		return sweeper.New(h, claims.New(rdb), fleet.Probe, time.Now).Finding(sweeper.NewMissed(h, positions.New(rdb), src, function.Publisher())), nil
	})
}
