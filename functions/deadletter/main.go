// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command deadletter logs and counts the events that no stage could handle.
package main

import (
	"context"

	"sluice.dev/pkg/connect"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/pipeline/deadletter"
	"sluice.dev/pkg/redis/deadletters"
)

func main() {
	function.Main(deadletter.Name, func(context.Context) (function.Stage, error) {
		rdb, err := connect.Redis()
		if err != nil {
			return nil, err
		}
		return deadletter.New(deadletters.New(rdb)), nil
	})
}
