// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command scheduler picks the clusters of a binding.
package main

import (
	"context"

	"sluice.dev/pkg/connect"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/scheduler"
)

func main() {
	function.Main(scheduler.Name, func(ctx context.Context) (function.Stage, error) {
		h, err := connect.Hub(ctx, hub.ClusterKind(), hub.MemberKind())
		if err != nil {
			return nil, err
		}
		return scheduler.New(h, h, h, h, h.Now), nil
	})
}
