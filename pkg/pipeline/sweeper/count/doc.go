// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package count keeps the counts in policies' statuses.
//
// Promise: each policy says how its templates are doing, which of their removals are
// held, and which rights its kinds lack: at most one write a policy in five seconds, at
// most a second of writing a sweep, and none where nothing changed. Policies take turns:
// how far they came is among the positions.
//
// It must not count by looking at templates.
package count
