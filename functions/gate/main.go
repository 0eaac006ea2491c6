// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command gate decides whether a policy's current form may act on a template now.
package main

import (
	"context"

	"sluice.dev/pkg/connect"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/gate"
)

func main() {
	function.Main(gate.Name, func(ctx context.Context) (function.Stage, error) {
		h, err := connect.Hub(ctx, hub.InterpreterKind())
		if err != nil {
			return nil, err
		}
		return gate.New(h, h.Now), nil
	})
}
