// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command detector finds out which policy claims a template.
package main

import (
	"context"

	"sluice.dev/pkg/connect"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/pipeline/detector"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/suspension"
)

func main() {
	function.Main(detector.Name, func(ctx context.Context) (function.Stage, error) {
		h, err := connect.Hub(ctx)
		if err != nil {
			return nil, err
		}
		rdb, err := connect.Redis()
		if err != nil {
			return nil, err
		}
		index := claims.New(rdb)
		return detector.New(h, index, index, suspension.New(rdb)), nil
	})
}
