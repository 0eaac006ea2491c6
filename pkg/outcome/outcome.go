// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package outcome names the ways in which handling an event can end, as errors
// that adapters and stages return and that pkg/function maps to answers.
//
//	nil            done, or nothing to do (a "no" is a result with a reason)
//	Conflict(err)  the world moved: read again in process, a few times, then later
//	Terminal(err)  trying again cannot help: malformed event, invalid input
//	After(d, err)  transient, and we know when to try again
//	Partly(err)    done, and told, but for what err says: the next look finds it
//	any other      assumed transient
//
// It must not know HTTP, Kubernetes or Redis.
package outcome

import (
	"errors"
	"slices"
	"time"
)

// ErrGone says that what was asked for does not exist: the server of its kind
// says so of this very object. Stages turn it into "done": it is never an answer.
var ErrGone = errors.New("gone")

// ErrNotServed says that the API serves no such kind, group or version, or not
// now. Of what exists it says nothing: nobody may take it for ErrGone, and nothing
// is removed because of it.
var ErrNotServed = errors.New("not served")

// ErrNotBuilt says that Redis has lost its data, or never had it, and that
// nothing may be decided before it is rebuilt from the hub.
var ErrNotBuilt = errors.New("index not built")

type conflict struct{ error }

func (c conflict) Unwrap() error { return c.error }

// Conflict marks a lost race.
func Conflict(err error) error { return conflict{err} }

// IsConflict tells whether err is a lost race.
func IsConflict(err error) bool {
	var c conflict
	return errors.As(err, &c)
}

type terminal struct{ error }

func (t terminal) Unwrap() error { return t.error }

// Terminal marks an error that no retry can mend.
func Terminal(err error) error { return terminal{err} }

// IsTerminal tells whether err can never be mended by a retry.
func IsTerminal(err error) bool {
	var t terminal
	return errors.As(err, &t)
}

type after struct {
	error
	delay time.Duration
}

func (a after) Unwrap() error { return a.error }

// plain hides of an error how it ends.
type plain struct{ error }

// Join joins what failed of several things that are tried again together; nil where
// nothing did. It is terminal only if all of them are: the others are worth a retry.
func Join(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if slices.ContainsFunc(errs, func(err error) bool { return !IsTerminal(err) }) {
		for i, err := range errs {
			if IsTerminal(err) {
				errs[i] = plain{err}
			}
		}
	}
	return errors.Join(errs...)
}

// After marks a transient error that is worth a retry after delay.
func After(delay time.Duration, err error) error { return after{err, delay} }

// Delay is that of After; false where err says none.
func Delay(err error) (time.Duration, bool) {
	var a after
	if errors.As(err, &a) {
		return a.delay, true
	}
	return 0, false
}

type partly struct{ error }

func (p partly) Unwrap() error { return p.error }

// Partly marks what could not be done of many things, each of which is looked at
// again by itself: what was emitted stands. Nil for nil.
func Partly(err error) error {
	if err == nil {
		return nil
	}
	return partly{err}
}

// IsPartly tells whether all but what err says was done.
func IsPartly(err error) bool {
	var p partly
	return errors.As(err, &p)
}
