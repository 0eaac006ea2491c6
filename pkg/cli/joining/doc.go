// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package joining knows what a cluster must offer to become a member: an
// address, credentials that can be carried to the hub, rights, an identity. And
// it takes away from a member what Sluice put there.
//
// Invariants:
//   - A member is only read, but by Purge.
//   - Purge deletes nothing that does not carry the label of the Work that it
//     came from.
//
// It must not know the hub.
package joining
