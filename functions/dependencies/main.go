// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command dependencies propagates what a template refers to along with it.
package main

import (
	"context"

	"sluice.dev/pkg/connect"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/dependencies"
	"sluice.dev/pkg/redis/suspension"
)

func main() {
	function.Main(dependencies.Name, func(ctx context.Context) (function.Stage, error) {
		h, err := connect.Hub(ctx, hub.InterpreterKind())
		if err != nil {
			return nil, err
		}
		rdb, err := connect.Redis()
		if err != nil {
			return nil, err
		}
		return dependencies.New(h, suspension.New(rdb)), nil
	})
}
