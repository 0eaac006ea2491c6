// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command sweeper finds changes that no event told of.
package main

import (
	"context"
	"errors"

	"sluice.dev/pkg/connect"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/sweeper"
	"sluice.dev/pkg/pipeline/sweeper/replay"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/deadletters"
	"sluice.dev/pkg/redis/positions"
)

func main() {
	function.Main(sweeper.Name, func(ctx context.Context) (function.Stage, error) {
		h, err := connect.Hub(ctx, hub.ClusterKind(), hub.InterpreterKind())
		if err != nil {
			return nil, err
		}
		rdb, noRedis := connect.Redis()
		src, noSources := connect.Sources(h)
		fleet, noMembers := connect.Members(h)
		rights, noRights := connect.Rights(h)
		if err := errors.Join(noRedis, noSources, noMembers, noRights); err != nil {
			return nil, err
		}
		index, at, publish := claims.New(rdb), positions.New(rdb), function.Publisher()
		return sweeper.New(h, index, at, fleet.Probe, h.Now).Mirroring(h, fleet.Usage).Listing(fleet.Kinds).Identifying(h, fleet.Identity).Checking(rights).
			Replaying(replay.New(h, index, at, src, publish, h.Now)).ReplayingMembers(fleet.News, publish).Resending(deadletters.NewResender(deadletters.New(rdb), publish)), nil
	})
}
