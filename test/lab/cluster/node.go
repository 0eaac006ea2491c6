// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

// A member has one node, big enough for every test. NodeIP is an address that
// documents may use and nobody has.
const (
	nodeName = "node-1"
	NodeIP   = "192.0.2.1"
)
