// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package rebuild fills Redis from the hub when it lost its data, or when the hub was
// restored from a backup, so that Redis knows what no longer exists.
//
// Invariants:
//   - However often it is interrupted, Redis is complete in the end, and is not used
//     before that.
//   - Each call continues where the last one ended, in any process: the progress is
//     stored in Redis. So is the fact that the hub was restored, until what members
//     have is being checked.
//
// It must not decide what the index contains, which pkg/redis/claims does.
package rebuild
