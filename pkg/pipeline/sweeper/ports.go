// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/sweeper/auditor"
	"sluice.dev/pkg/pipeline/sweeper/count"
	"sluice.dev/pkg/pipeline/sweeper/due"
	"sluice.dev/pkg/pipeline/sweeper/interpreters"
	"sluice.dev/pkg/pipeline/sweeper/members"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/rebuild"
	"sluice.dev/pkg/pipeline/sweeper/registrar"
	"sluice.dev/pkg/pipeline/sweeper/removals"
	"sluice.dev/pkg/pipeline/sweeper/replay"
)

// Hub is the control plane's API: what the rooms need of it, and all Works.
type Hub interface {
	rebuild.Hub
	registrar.Hub
	auditor.Hub
	removals.Hub
	due.Hub
	count.Hub
	interpreters.Hub
	members.Hub
	page.Hub
	Works(ctx context.Context) ([]*propagation.Work, error)
}

// Members reads and writes the clusters as placements see them.
type Members interface {
	registrar.Members
	auditor.Placements
}

// Index is Redis.
type Index interface {
	replay.Index
	rebuild.Index
	auditor.Index
	count.Index
}

// Letters are the events that no stage could handle.
type Letters interface {
	// Resend sends some of them to the broker once more.
	Resend(ctx context.Context) error
}
