// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e proves on real API servers what Sluice promises. It is a black
// box: a scenario applies objects to the hub, as any user does, and looks at
// the hub and at the members.
//
// Tests are named by the line of the acceptance list that they prove, so that
// one can be run by its name:
//
//	make run                              # in one terminal
//	go test ./test/e2e -run L41           # in another
//
// Invariants:
//   - A scenario lives in a namespace of its own, and everything of its own that
//     has no namespace carries the scenario's name: scenarios run at once.
//   - Scenarios that want the same gates run together; the gates are switched
//     when nobody needs them as they are (gates).
//   - Everything that is written to a Work or to a member's object is seen by a
//     watch (mirror), so "nothing happened" means that no write was made, not
//     that the state looks the same afterwards.
//   - A wait is for a condition. The one pause is quiet, at the end of a check
//     that nothing happens, after a canary has gone through the whole pipeline.
//
// Without a lab every test is skipped, and says why; one that is named has to be
// there. Environment:
//
//	SLUICE_E2E_DIR    where the lab is, by default ../../_output
//	SLUICE_E2E_ROOT   where the Makefile is that does harm, by default ../..
//	SLUICE_E2E_KEEP   keep the scenarios' namespaces
//	SLUICE_E2E_CHAOS  restart and flush the pipeline by turns at this interval
package e2e
