// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/schema"
	"sluice.dev/pkg/redis/suspension"
)

var (
	// ErrRebuilding says that another rebuild is running.
	ErrRebuilding = fmt.Errorf("another rebuild is running: %w", outcome.ErrNotBuilt)
	// ErrLockLost says that a rebuild came to nothing: its lock expired, or Redis
	// was flushed.
	ErrLockLost = fmt.Errorf("the lock of the rebuild is lost: %w", outcome.ErrNotBuilt)
)

// resumable is how long the progress of an interrupted rebuild may be continued: later,
// too many loaded templates may have been deleted from the hub without anybody
// noticing.
const resumable = 10 * time.Minute

// Rebuild is what load fills Redis with. It may be used by many goroutines, and
// only until load returns.
type Rebuild struct {
	m           *Map
	suspensions *suspension.Map
	reached     map[string]string
}

// Reset marks Redis as not built, whatever is in it: it would still contain what was
// deleted from the hub while nobody watched.
func (m *Map) Reset(ctx context.Context) error {
	if err := m.rdb.Del(ctx, schema.Epoch, schema.Progress).Err(); err != nil {
		return fmt.Errorf("reset: %w", err)
	}
	return nil
}

// Rebuild builds Redis from the hub: it empties Redis, lets load fill it, and
// then says that it is built. Where it is built already, it does nothing.
//
// One rebuild runs at a time; others get ErrRebuilding. Each write carries the token of
// the rebuild's lock, so one that was given up as dead cannot write any more. The lock
// is kept while load runs; when it is lost, load's context ends. If load fails, or the
// lock is lost, or Redis is flushed meanwhile, it stays not built. If load noted its
// progress (Reach), the next rebuild keeps the templates that were loaded, and only
// these, and continues from there: so a rebuild that takes longer than its callers have
// time is finished in several attempts.
func (m *Map) Rebuild(ctx context.Context, load func(ctx context.Context, r *Rebuild) error) error {
	token := rand.Text()
	status, reached, err := begin(ctx, m.rdb, token, m.lease)
	switch {
	case err != nil:
		return fmt.Errorf("begin to rebuild: %w", err)
	case status == schema.Same:
		return nil
	case status == schema.Busy:
		return ErrRebuilding
	}
	guard := schema.Building(token, ErrLockLost)
	locked := &Map{rdb: m.rdb, guard: guard, lease: m.lease}
	defer locked.release(ctx)
	r := &Rebuild{m: locked, suspensions: suspension.Guarded(m.rdb, guard), reached: reached}
	if err := locked.holding(ctx, func(ctx context.Context) error { return load(ctx, r) }); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	if err := locked.finish(ctx); err != nil {
		return fmt.Errorf("finish to rebuild: %w", err)
	}
	return nil
}

// holding runs work and keeps the lock meanwhile.
func (m *Map) holding(ctx context.Context, work func(context.Context) error) error {
	held, lose := context.WithCancelCause(ctx)
	// Beside the work, and of nothing that its context carries.
	keeping, stop := context.WithCancel(context.Background())
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		m.keep(keeping, lose)
	}()
	err := work(held)
	if cause := context.Cause(held); errors.Is(cause, ErrLockLost) {
		err = cause
	}
	lose(nil)
	stop()
	<-kept
	return err
}

// keep extends the lock until ctx ends, which it makes end when the lock is lost.
// Redis may be away for less than the lease.
func (m *Map) keep(ctx context.Context, lose context.CancelCauseFunc) {
	tick := time.NewTicker(m.lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := m.extend(ctx, m.lease); errors.Is(err, ErrLockLost) {
			lose(err)
			return
		}
	}
}

// release gives the lock back, where it is still held, so that another rebuild
// need not wait until it expires.
func (m *Map) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.lease)
	defer cancel()
	_ = m.extend(ctx, 0) // else it expires
}

// At returns where to continue a part that an earlier rebuild has begun; empty if that
// part is finished.
func (r *Rebuild) At(part string) (at string, begun bool) {
	at, begun = r.reached[part]
	return at, begun
}

// Reach notes that the templates of a part are loaded, up to at, where the part
// continues; empty: all of them.
func (r *Rebuild) Reach(ctx context.Context, part, at string) error {
	if err := r.m.reach(ctx, part, at); err != nil {
		return fmt.Errorf("note how far the rebuild came: %w", err)
	}
	return nil
}

// IndexPolicy is as Map.IndexPolicy.
func (r *Rebuild) IndexPolicy(ctx context.Context, p *propagation.Policy, selectors []Selector) error {
	_, _, err := r.m.IndexPolicy(ctx, p, selectors)
	return err
}

// Record says which claim the hub records on a template.
func (r *Rebuild) Record(ctx context.Context, t propagation.TemplateKey, c propagation.Claim, seen propagation.Sighting) error {
	return r.m.record(ctx, t, c, seen, anyRevision)
}

// Park says that a template has no claim on the hub.
func (r *Rebuild) Park(ctx context.Context, t propagation.TemplateKey, labels map[string]string, seen propagation.Sighting) error {
	return r.m.park(ctx, t, labels, seen, anyRevision)
}

// Suspend sets a policy's suspension.
func (r *Rebuild) Suspend(ctx context.Context, key propagation.PolicyKey, v suspension.Suspension) error {
	return r.suspensions.SetPolicy(ctx, key, v)
}

// SuspendBinding sets a binding's suspension.
func (r *Rebuild) SuspendBinding(ctx context.Context, key propagation.BindingKey, v suspension.Suspension) error {
	return r.suspensions.SetBinding(ctx, key, v)
}
