// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applying

// Answer is the outcome of reading an object.
type Answer int

// The answers.
const (
	// CannotTell: it was not read, or reading it failed (403, 5xx).
	CannotTell Answer = iota
	// Found: the object exists.
	Found
	// Absent: the API server serves the kind, and has no such object.
	Absent
	// NotServed: the API server does not serve the kind.
	NotServed
)

// Read is an API server's answer to a request for an object. The zero Read means that
// no request was made.
type Read[T any] struct {
	Value  T
	Answer Answer
	// Last is the last state of an absent object, where it is known.
	Last T
	// Why says for people why there is no answer.
	Why string
}

// Have returns the Read of an object that exists.
func Have[T any](v T) Read[T] { return Read[T]{Value: v, Answer: Found} }

// None returns the Read of an object that does not exist.
func None[T any]() Read[T] { return Read[T]{Answer: Absent} }
