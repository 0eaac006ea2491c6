// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command preemptor takes templates for the policies that are entitled to them.
package main

import (
	"context"

	"sluice.dev/pkg/connect"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/pipeline/preemptor"
	"sluice.dev/pkg/redis/claims"
)

func main() {
	function.Main(preemptor.Name, func(ctx context.Context) (function.Stage, error) {
		h, err := connect.Hub(ctx)
		if err != nil {
			return nil, err
		}
		rdb, err := connect.Redis()
		if err != nil {
			return nil, err
		}
		return preemptor.New(h, claims.New(rdb)), nil
	})
}
