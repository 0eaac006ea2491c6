// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package paging goes through a long list in several events, each of which reads
// the part of the list that it tells of, and no other.
//
// Invariants:
//   - One event reads at most Reads pages, and stops behind the one with which it
//     has found Size objects: it finds fewer than twice as many.
//   - Every object that is there from the first event to the last is seen.
//
// It must not decide what is to be found.
package paging

import "context"

const (
	// Size is how many objects one request lists at most.
	Size = 100
	// Reads is how many pages one event reads at most.
	Reads = 20
)

// List is a part of a list: at most limit objects, those after cont, and where to go
// on; empty: that was all.
type List[T any] func(ctx context.Context, limit int64, cont string) (page []T, next string, err error)

// Through goes on through a list at cont, empty: at its start, and shows each object
// to found, which says whether it is one. It returns where the next event goes on;
// empty: nowhere.
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
