// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package joining knows what a cluster must have to become a member: an address,
// credentials that can be stored on the hub, rights, an identity. It also finds and
// deletes what Sluice created in a member, and makes and revokes the tokens of a
// member's account that only reads.
//
// Invariants:
//   - A member is only read, except by Purge and for the account that only reads.
//   - The account that only reads may get, list and watch, and nothing else.
//   - Purge deletes only objects that have the label of the Work that they came from.
//
// It must not know the hub.
package joining
