// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command rollout rolls out the snapshots of placements to their members.
package main

import (
	"context"

	"sluice.dev/pkg/connect"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/rollout"
)

func main() {
	function.Main(rollout.Name, func(ctx context.Context) (function.Stage, error) {
		h, err := connect.Hub(ctx, hub.PlacementKind(), hub.MemberKind())
		if err != nil {
			return nil, err
		}
		return rollout.New(h, h.Now), nil
	})
}
