// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package watch follows the objects of a kind in an API server, a hub's or a member's:
// with a list and a watch that lasts (Loop), or with a look at what happened since the
// last one (Since).
//
// Invariants of a Loop:
//   - It lists by pages, watches from the version of the list, and goes on from the last
//     version that it was told, also after the connection was cut. Where the API server has
//     forgotten that version everything is listed again, behind a pause. A
//     caller may have the same done where the next watch cannot be opened at once: after
//     a pause another API server may answer.
//   - A resumed watch is trusted only if it is open within a second, and once the API
//     server has reached its version: a server that was restored from a backup would
//     report nothing until then, and what it had lost would still be believed afterwards.
//   - An API server that cannot be asked costs a request now and then: the pauses double to
//     five seconds, as they do where a kind is forbidden or not served.
//   - Objects are decoded one at a time, into what is kept of them. A Reflector decodes each
//     into maps first: of 5,000 bindings of 3.1 kB it allocates 49 kB each, not 18, the heap
//     grows by 140 MB, not 40, and a store of them keeps 19 kB each, not 3.5.
//
// It must not keep objects, nor know what they are about: hub and member have stores of
// their own, for what they have to know of an object differs (docs/decisions/0049).
package watch
