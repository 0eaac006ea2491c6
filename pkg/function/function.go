// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package function

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/outcome"
)

// Stage handles the events of one step of the pipeline. Handle is called
// concurrently, may be called twice for one event, and must not change e.
type Stage interface {
	Name() string
	Handle(ctx context.Context, e event.Event) ([]event.Event, error)
}

// Timeout ends the handling of an event that hangs. It is far above what any
// stage needs; a stage sets its own, shorter one for each request it makes.
const Timeout = 2 * time.Minute

const (
	// conflictRetries is how often an event is handled again in process after a lost race.
	conflictRetries = 5
	// conflictPause is the pause before the first retry; it doubles each time.
	conflictPause = 4 * time.Millisecond
)

// Result is how the handling of one event ended.
type Result struct {
	// Events that the stage emitted; none unless the outcome is Done.
	Events  []event.Event
	Outcome Outcome
	// Reason in one word: that of the first emitted event that has one, or
	// one of this package's where the handling failed.
	Reason string
	// Err is nil if and only if the outcome is Done.
	Err error
	// Passed is the error of a Done outcome where some of many things failed, which are
	// looked at again.
	Passed error
	// Duration of all attempts together.
	Duration time.Duration
	// Delay that the stage asked for before a retry; zero where it did not.
	Delay time.Duration
}

// Runner runs stages. The zero value neither counts nor shows anything but the
// log line.
type Runner struct {
	// Metrics counts events; nil counts nothing.
	Metrics *Metrics
	// Observe is told of every handled event, after it was logged; nil tells
	// nobody. It must not block.
	Observe func(Line)
}

// Run is Runner{}.Run, for tests and tools.
func Run(ctx context.Context, s Stage, e event.Event) Result { return Runner{}.Run(ctx, s, e) }

// Run takes e through s. It logs with the logger of ctx, and it never panics.
func (r Runner) Run(ctx context.Context, s Stage, e event.Event) Result {
	start := time.Now()
	var out []event.Event
	err := admit(e)
	if err == nil {
		e = traced(e)
		out, err = r.handle(ctx, s, e)
	}
	res := resultOf(out, err)
	res.Duration = time.Since(start)
	r.record(ctx, s.Name(), e, res)
	return res
}

func (r Runner) handle(ctx context.Context, s Stage, e event.Event) ([]event.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	ctx = WithLogger(ctx, Logger(ctx).With(keyStage, s.Name(), keyEvent, e.ID()))
	out, err := r.attempt(ctx, s, e)
	if err != nil && !outcome.IsPartly(err) {
		return nil, err
	}
	for _, o := range out {
		if err := admit(o); err != nil {
			return nil, fmt.Errorf("emitted %s: %w", o.Type(), err)
		}
	}
	return out, err
}

// attempt calls the stage until it did not lose a race, a few times.
func (r Runner) attempt(ctx context.Context, s Stage, e event.Event) ([]event.Event, error) {
	for n := 0; ; n++ {
		out, err := recovered(ctx, s, e)
		if !outcome.IsConflict(err) || outcome.IsPartly(err) || n == conflictRetries {
			return out, err
		}
		r.Metrics.retried(s.Name())
		pause := conflictPause << n
		if !sleep(ctx, pause/2+rand.N(pause)) { // jitter: losers of one race must not meet again
			return nil, err
		}
	}
}

// recovered calls the stage and turns a panic into an error.
func recovered(ctx context.Context, s Stage, e event.Event) (out []event.Event, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, &panicError{value: v, stack: debug.Stack()}
		}
	}()
	return s.Handle(ctx, e)
}

// admit refuses what no stage should see or emit.
func admit(e event.Event) error {
	if n := len(e.Data()); n > events.MaxSize {
		return outcome.Terminal(fmt.Errorf("%w: data has %d bytes, at most %d are allowed", errTooLarge, n, events.MaxSize))
	}
	if err := e.Validate(); err != nil {
		return outcome.Terminal(fmt.Errorf("%w: %w", events.ErrMalformed, err))
	}
	return nil
}

// sleep tells whether the whole of d passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
