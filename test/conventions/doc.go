// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package conventions holds the tests that keep the repository as docs/style.md
// says: which package may import which, how long things may be, what stands at
// the head of a file. It has no other code.
//
// Invariants:
//   - a rule is one test, and what it reports says where and what to do;
//   - what may break a rule stands in exceptions.go with the reason, and an
//     exception that is not needed any more fails the test, too;
//   - a rule about folders that do not exist yet holds as soon as they do.
//
// What pkg/core may do is tested there: pkg/core/purity_test.go.
package conventions
