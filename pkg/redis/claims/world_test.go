// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/redis/claims"
)

// failer is what testing.T and rapid.T have in common here.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// world is a hub that people change, and the map that indexes it.
type world struct {
	t         failer
	m         *claims.Map
	mu        sync.Mutex
	version   int
	policies  map[propagation.PolicyKey]*propagation.Policy
	templates map[string]string // their label
}

func newWorld(m *claims.Map, t failer) *world {
	return &world{t: t, m: m, policies: map[propagation.PolicyKey]*propagation.Policy{}, templates: map[string]string{}}
}

func (w *world) fail(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Errorf("%v", err)
	}
}

func (w *world) policy(ctx context.Context, key propagation.PolicyKey) *propagation.Policy {
	pause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.policies[key]
}

func (w *world) template(ctx context.Context, name string) string {
	pause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.templates[name]
}

func (w *world) changePolicy(name string, selectors []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	p := policy(name, w.version, selectors...)
	old := w.policies[p.Key]
	switch {
	case len(selectors) == 0:
		delete(w.policies, p.Key)
		return
	case old != nil:
		p.ID = old.ID
	default:
		p.ID = fmt.Sprintf("id-%d", w.version)
	}
	w.policies[p.Key] = p
}

func (w *world) changeTemplate(name, label string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.version++
	w.templates[name] = label
}

// checkQuiet is what must be so when nobody does anything any more.
func (w *world) checkQuiet(ctx context.Context) {
	w.t.Helper()
	for name, label := range w.templates {
		if label == "" {
			continue
		}
		v, err := w.m.Look(ctx, template(name))
		w.fail(err)
		var selecting []string
		for _, p := range w.policies {
			if selects(p)(template(name), labelled(label)) {
				selecting = append(selecting, p.ID)
			}
		}
		switch {
		case v.Parked && len(selecting) > 0:
			w.t.Errorf("%s waits, but %v select it", name, selecting)
		case !v.Parked && !slices.Contains(selecting, v.Holder.ID):
			w.t.Errorf("%s is held by %+v; %v select it", name, v.Holder, selecting)
		}
	}
}

// A worker in a context stops in front of each of its requests until it has its
// turn.
type worker struct {
	turn   chan struct{}
	paused chan bool // false: it is done
}

type workerKey struct{}

func pause(ctx context.Context) {
	if me, ok := ctx.Value(workerKey{}).(*worker); ok {
		me.paused <- true
		<-me.turn
	}
}

// interleave runs n workers, one request of one of them at a time, in the order
// that rapid draws.
func interleave(rt *rapid.T, n int, run func(ctx context.Context, i int)) {
	var running []*worker
	for i := range n {
		me := &worker{turn: make(chan struct{}), paused: make(chan bool)}
		running = append(running, me)
		go func() {
			<-me.turn
			run(context.WithValue(context.Background(), workerKey{}, me), i)
			me.paused <- false
		}()
	}
	for len(running) > 0 {
		i := rapid.IntRange(0, len(running)-1).Draw(rt, "turn")
		running[i].turn <- struct{}{}
		if !<-running[i].paused {
			running = slices.Delete(running, i, i+1)
		}
	}
}

// pausing pauses in front of each command.
type pausing struct{}

func (pausing) DialHook(next redis.DialHook) redis.DialHook { return next }
func (pausing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (pausing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		pause(ctx)
		return next(ctx, cmd)
	}
}
