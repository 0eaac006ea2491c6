// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package paging reads a long list in the course of several events, each of which reads
// the next part of the list.
//
// Invariants:
//   - One event reads at most Reads pages, and stops after the page with which it has
//     found Size objects: so it finds fewer than twice as many.
//   - Every object that exists from the first event to the last is seen.
//
// It must not decide which objects count as found.
package paging

import "context"

const (
	// Size is how many objects one request lists at most.
	Size = 100
	// Reads is how many pages one event reads at most.
	Reads = 20
)

// List returns a part of a list: at most limit objects after the position cont, and the
// position to continue at; empty: the list ends there.
type List[T any] func(ctx context.Context, limit int64, cont string) (page []T, next string, err error)

// Through reads a list from cont on, empty: from its start, and passes each object to
// found, which reports whether it counts. It returns where the next event continues;
// empty: the list is finished.
func Through[T any](ctx context.Context, list List[T], cont string, found func(T) bool) (next string, err error) {
	n := 0
	for range Reads {
		page, after, err := list(ctx, Size, cont)
		if err != nil {
			return "", err
		}
		for _, object := range page {
			if found(object) {
				n++
			}
		}
		if cont = after; cont == "" || n >= Size {
			break
		}
	}
	return cont, nil
}
