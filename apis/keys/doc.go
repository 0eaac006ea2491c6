// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package keys names the objects that Sluice reads and makes: the keys that
// events carry, and the names that bindings, Works and revisions have.
//
// Invariants:
//   - A key is a comparable value without the object; its JSON is part of the
//     event contract.
//   - The name of a binding follows from its template, that of a Work from its
//     binding: who knows one finds the other without asking.
//   - A name is the same in each release: objects that have it are there.
//
// It must not import anything of Sluice.
package keys
