// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command placer keeps what placements select in snapshots.
package main

import (
	"context"

	"sluice.dev/pkg/connect"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/placer"
	"sluice.dev/pkg/redis/pending"
)

func main() {
	function.Main(placer.Name, func(ctx context.Context) (function.Stage, error) {
		h, err := connect.Hub(ctx, hub.PlacementKind())
		if err != nil {
			return nil, err
		}
		rdb, err := connect.Redis()
		if err != nil {
			return nil, err
		}
		return placer.New(h, pending.New(rdb), placer.NewReminder(function.Publisher()).Remind, h.Now), nil
	})
}
