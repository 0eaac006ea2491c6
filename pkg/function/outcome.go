// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/outcome"
)

// Outcome classifies a Result.
type Outcome string

// The outcomes.
const (
	// Done: handled, or nothing to do.
	Done Outcome = "done"
	// Conflict: the race was lost again and again; try later.
	Conflict Outcome = "conflict"
	// Terminal: trying again cannot help.
	Terminal Outcome = "terminal"
	// Refused: the caller may not send events. Nothing was looked at.
	Refused Outcome = "refused"
	// Retry: failed, and it may succeed later. A panic is a Retry.
	Retry Outcome = "retry"
)

// The reasons of outcomes other than Done, and of one that came to nothing.
const (
	ReasonCaller    = "UnknownCaller"
	ReasonConflict  = "Conflict"
	ReasonCovered   = "Covered" // another event that tells the same was handled after this one came
	ReasonError     = "Error"
	ReasonMalformed = "Malformed"
	ReasonNotBuilt  = "IndexNotBuilt"
	ReasonPanic     = "Panic"
	ReasonPartly    = "Partly" // done, but for some of many things, which are looked at again
	ReasonRejected  = "Rejected"
	ReasonTimeout   = "Timeout"
	ReasonTooLarge  = "TooLarge"
)

var errTooLarge = errors.New("event too large")

// panicError is what a panic of a stage becomes.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// resultOf classifies what a stage returned.
func resultOf(out []event.Event, err error) Result {
	if err == nil {
		return Result{Events: out, Outcome: Done, Reason: firstReason(out)}
	}
	if outcome.IsPartly(err) {
		return Result{Events: out, Outcome: Done, Reason: ReasonPartly, Passed: err}
	}
	res := Result{Outcome: Retry, Reason: reasonOf(err), Err: err}
	res.Delay, _ = outcome.Delay(err)
	switch {
	case errors.Is(err, errCaller):
		res.Outcome = Refused
	case outcome.IsTerminal(err), errors.Is(err, events.ErrMalformed):
		res.Outcome = Terminal
	case outcome.IsConflict(err):
		res.Outcome = Conflict
	}
	return res
}

func firstReason(out []event.Event) string {
	for _, e := range out {
		if s, ok := e.Extensions()[events.ExtReason].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// reasonOf names an error in one word, the most telling first.
func reasonOf(err error) string {
	var p *panicError
	switch {
	case errors.As(err, &p):
		return ReasonPanic
	case errors.Is(err, errCaller):
		return ReasonCaller
	case errors.Is(err, errTooLarge):
		return ReasonTooLarge
	case errors.Is(err, events.ErrMalformed):
		return ReasonMalformed
	case errors.Is(err, outcome.ErrNotBuilt):
		return ReasonNotBuilt
	case outcome.IsTerminal(err):
		return ReasonRejected
	case outcome.IsConflict(err):
		return ReasonConflict
	case errors.Is(err, context.DeadlineExceeded):
		return ReasonTimeout
	}
	return ReasonError
}

// status is the answer to the broker. 503 is tried again, 401 and 422 go to the
// dead letters.
func status(res Result) int {
	switch res.Outcome {
	case Refused:
		return http.StatusUnauthorized
	case Terminal:
		return http.StatusUnprocessableEntity
	case Conflict, Retry:
		return http.StatusServiceUnavailable
	}
	if len(res.Events) == 0 {
		return http.StatusAccepted
	}
	return http.StatusOK
}

// retryAfter is the value of the Retry-After header: whole seconds, rounded up;
// empty where nobody asked for a delay.
func retryAfter(delay time.Duration) string {
	if delay <= 0 {
		return ""
	}
	return fmt.Sprint(int64((delay + time.Second - 1) / time.Second))
}

// brief is an error for the body of an answer: one line, and short.
func brief(err error) string {
	s := strings.ToValidUTF8(strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; "), "?")
	if len(s) > 512 {
		s = strings.ToValidUTF8(s[:512], "") + "…"
	}
	return s
}
