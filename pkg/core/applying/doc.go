// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package applying decides what happens to one object of one Work in one member:
// it is applied, adopted, kept, waited for, removed, or released (let go without
// being deleted).
//
// Invariants:
//   - An object leaves a member by a Removal, which only Decide makes, of a Proof,
//     which only Examine makes, of what was read on the hub: the object's template
//     is gone, or a binding in force leaves the member out. What is missing, not
//     served, forbidden or failing proves nothing.
//   - Whose an object is, is told by its marks: the label of its Work, and the hub
//     of that. One that lost the label is still known by its uid. What is
//     somebody else's is left alone, unless it may be taken over, and nothing is
//     taken over twice.
//   - What the member has already is not applied again.
//
// It must not know how members or hubs are spoken to.
package applying
