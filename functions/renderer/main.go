// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command renderer turns a binding into a Work for each member.
package main

import (
	"context"

	"sluice.dev/pkg/connect"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/renderer"
)

func main() {
	function.Main(renderer.Name, func(ctx context.Context) (function.Stage, error) {
		h, err := connect.Hub(ctx, append(hub.OverrideKinds(), hub.ClusterKind(), hub.InterpreterKind())...)
		if err != nil {
			return nil, err
		}
		return renderer.New(h, h.Now), nil
	})
}
