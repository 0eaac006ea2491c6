// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"regexp"
	"slices"
	"time"
)

// patience is how long a history is shrunk.
const patience = 20 * time.Second

// shrink leaves out of a failing history, and of its climate, what it does not
// need to fail in the same way.
func (l *lab) shrink(c climate, h []op, failure error) (climate, []op, error) {
	deadline := time.Now().Add(patience)
	sort := sortOf(failure)
	fails := func(c climate, h []op) bool {
		if time.Now().After(deadline) {
			return false
		}
		err := l.run(c, h)
		if err != nil && sortOf(err) == sort {
			failure = err
			return true
		}
		return false
	}
	for n := max(1, len(h)/2); ; n = max(1, n/2) {
		shorter := l.without(c, h, n, fails)
		if n == 1 && len(shorter) == len(h) {
			break
		}
		h = shorter
	}
	h = calmer(c, h, fails)
	for _, simpler := range []func(*climate){
		func(c *climate) { c.flights = 1 }, func(c *climate) { c.flights = 2 }, func(c *climate) { c.late = false }, func(c *climate) { c.pair = false },
		func(c *climate) { c.echo = false }, func(c *climate) { c.lag = false }, func(c *climate) { c.follow = false },
		func(c *climate) { c.lanes = true },
	} {
		next := c
		if simpler(&next); next != c && next.flights <= c.flights && fails(next, h) {
			c = next
		}
	}
	return c, l.without(c, h, 1, fails), failure
}

// without leaves out ops, n at a time.
func (l *lab) without(c climate, h []op, n int, fails func(climate, []op) bool) []op {
	for i := len(h) - n; i >= 0; i -= n {
		shorter := slices.Concat(h[:i], h[i+n:])
		if fails(c, shorter) {
			h = shorter
		}
	}
	return h
}

// calmer delivers in order where that does, and less at once.
func calmer(c climate, h []op, fails func(climate, []op) bool) []op {
	for i, o := range h {
		if o.verb != deliver || o.seed == 0 {
			continue
		}
		next := slices.Clone(h)
		next[i].seed = 0
		if fails(c, next) {
			h = next
			continue
		}
		for _, n := range []int{o.n / 8, o.n / 4, o.n / 2, o.n * 3 / 4, o.n - 1} {
			next = slices.Clone(h)
			next[i].n = n
			if n > 0 && fails(c, next) {
				h = next
				break
			}
		}
	}
	return h
}

var details = regexp.MustCompile(`\{[^}]*\}|[0-9a-f]{6,}|\b(m[123]|uid-[0-9]+|id-of-\S+|[0-9]+)\b|(?s:\n.*)`)

// sortOf is a failure without what differs from one to the next of its sort.
func sortOf(err error) string { return details.ReplaceAllString(err.Error(), "…") }
