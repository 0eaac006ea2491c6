// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides which members of a placement are next: which get it, get
// another snapshot of it, or lose it, and what the others wait for.
//
// Invariants:
//   - At no moment are more members made unavailable than maxUnavailable allows, nor
//     do more have the placement than maxSurge allows. What is unavailable already,
//     because it failed, or is not there yet, may always be changed or removed.
//   - What a member has counts as available when it was seen to be so as it is now:
//     since the binding's generation that gave it to it. What cannot be seen to be available is
//     so for unavailablePeriodSeconds after it was applied.
//   - A member that is changed gets the newest snapshot, whichever it has.
//   - With the strategy External nobody gets, changes or loses anything but what a run
//     allows (package staged).
//   - The same input gives the same plan, in whatever order it is given. A plan that
//     was carried out and observed leads to the next, until nothing is left to do.
//   - Who waits has a reason, and where time alone will tell, the time.
//
// It must not decide who gets the placement: that is scheduling/placement's.
package rollout
