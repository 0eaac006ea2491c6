// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package deadletters keeps, in Redis, the events that no stage could handle in
// all attempts, until they are handed to the broker once more: an outage of a
// function, of rights or of an API server may last longer than the broker's
// patience.
//
// Invariants:
//   - The same event is kept once, however often it fails.
//   - No more than Limit are kept. Further ones are only logged and counted.
//   - Some goes round: repeated calls return each of them.
//   - Extensions about an event's delivery, such as how often a broker may still pass
//     it on, are not kept: its delivery begins again.
//   - Dead letters are lost with the rest of Redis: the rebuild announces everything
//     anyway.
//
// Resender sends them again, as often as the sweeper calls it. The stage
// pkg/pipeline/deadletter decides which events are worth keeping. It must not know why
// a stage failed.
package deadletters

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/redis/schema"
)

// Limit is how many are kept; an event has less than a kilobyte.
const Limit = 10_000

var (
	//go:embed keep.lua
	keepSource string
	//go:embed some.lua
	someSource string
	//go:embed drop.lua
	dropSource string

	keepScript = schema.Guarded(keepSource)
	someScript = schema.Guarded(someSource)
	dropScript = schema.Guarded(dropSource)
)

// knative begins the names of the extensions in which Knative says how an event
// failed, and how far it may still go.
const knative = "knative"

// lastRead is the position of the dead letter that was read last.
const lastRead = "dead letters"

// Letters are the dead letters in a Redis. They may be used by many goroutines.
type Letters struct {
	rdb   redis.UniversalClient
	guard schema.Guard
}

// New is the dead letters in rdb.
func New(rdb redis.UniversalClient) *Letters { return &Letters{rdb: rdb, guard: schema.Built()} }

// Keep keeps an event, without what the broker says about its failure. False:
// there are too many.
func (l *Letters) Keep(ctx context.Context, e event.Event) (bool, error) {
	e = e.Clone()
	for name := range e.Extensions() {
		if strings.HasPrefix(name, knative) {
			e.SetExtension(name, nil)
		}
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return false, fmt.Errorf("encode %s: %w", e.ID(), err)
	}
	_, values, err := l.guard.Run(ctx, l.rdb, keepScript, []string{schema.DeadLetters}, name(e), string(raw), strconv.Itoa(Limit))
	if err != nil {
		return false, fmt.Errorf("keep %s: %w", e.ID(), err)
	}
	return len(values) > 0, nil
}

// Some returns up to n of the dead letters, others each time.
func (l *Letters) Some(ctx context.Context, n int) ([]event.Event, error) {
	_, values, err := l.guard.Run(ctx, l.rdb, someScript, []string{schema.DeadLetters, schema.Positions}, strconv.Itoa(n), lastRead)
	if err != nil {
		return nil, fmt.Errorf("read dead letters: %w", err)
	}
	out := make([]event.Event, len(values))
	for i, v := range values {
		if err := json.Unmarshal([]byte(v), &out[i]); err != nil {
			return nil, fmt.Errorf("decode a dead letter: %w", err)
		}
	}
	return out, nil
}

// Drop forgets events that Some returned.
func (l *Letters) Drop(ctx context.Context, letters []event.Event) error {
	if len(letters) == 0 {
		return nil
	}
	names := make([]any, len(letters))
	for i, e := range letters {
		names[i] = name(e)
	}
	if _, _, err := l.guard.Run(ctx, l.rdb, dropScript, []string{schema.DeadLetters}, names...); err != nil {
		return fmt.Errorf("drop dead letters: %w", err)
	}
	return nil
}

// name is the same for events that say the same.
func name(e event.Event) string {
	sum := sha256.New()
	for _, part := range []any{e.Type(), e.Source(), e.Subject(), e.Extensions()["cluster"], string(e.Data())} {
		fmt.Fprintf(sum, "%v\n", part)
	}
	return hex.EncodeToString(sum.Sum(nil))[:32]
}
