// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package applying decides what happens to one object of one Work in one member: it is
// applied, adopted, kept, waited for, removed, passed on to another Work, or released
// (left in the member, and no longer Sluice's).
//
// Invariants:
//   - An object is deleted from a member only with a Removal, which only Decide makes,
//     and only from a Proof, which only Examine and ExaminePlacement make. A proof
//     needs a positive answer from the hub: the object's template is gone, or a binding
//     in force leaves the member out. An object that is missing, not served, forbidden
//     or failing to be read proves nothing.
//   - Who an object belongs to is read from its marks: the label that names its Work,
//     and the annotation that names its hub. An object that lost the label is still
//     recognized by its uid. Objects of others are left alone, unless taking them over
//     is allowed, and no object is taken over twice.
//   - A manifest that the member has already is not applied again.
//
// It must not know how to talk to members or to the hub.
package applying
