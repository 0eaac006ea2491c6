// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

// Answer is the outcome of reading an object.
type Answer int

// The answers.
const (
	// CannotTell: nobody asked, or the answer was no answer (403, 5xx).
	CannotTell Answer = iota
	// Found: it is there.
	Found
	// Absent: there is no such object, says an API that serves its kind.
	Absent
	// NotServed: there is no such kind.
	NotServed
)

// Read is what an API server answered when it was asked for an object. The zero
// Read says that nobody asked.
type Read[T any] struct {
	Value  T
	Answer Answer
	// Last is the object as it was last, where it is absent and that is known.
	Last T
	// Why it cannot be told, for people.
	Why string
}

// Have is the Read of an object that is there.
func Have[T any](v T) Read[T] { return Read[T]{Value: v, Answer: Found} }

// None is the Read of an object that is not there.
func None[T any]() Read[T] { return Read[T]{Answer: Absent} }
