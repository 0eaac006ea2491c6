// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package positions keeps, in Redis, up to which version the changes of each
// kind have been announced, how far sweeps have come, and what was noticed of the hub.
//
// Invariants:
//   - A position is written after all changes up to it were announced, so that a crash
//     in between repeats announcements and never loses one.
//   - A rebuild forgets all of them: then everything is announced anew.
//   - Notices survive a rebuild, for a notice may be the reason for the rebuild.
//
// It must not know what a version means.
package positions

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/redis/schema"
)

var (
	//go:embed save.lua
	saveSource string
	//go:embed raise.lua
	raiseSource string

	saveScript  = schema.Guarded(saveSource)
	raiseScript = schema.Guarded(raiseSource)
)

// Map is the positions. It may be used by many goroutines.
type Map struct {
	rdb   redis.UniversalClient
	guard schema.Guard
}

// New is the positions in rdb.
func New(rdb redis.UniversalClient) *Map { return &Map{rdb: rdb, guard: schema.Built()} }

// Load is all positions by name.
func (m *Map) Load(ctx context.Context) (map[string]string, error) {
	var saved *redis.MapStringStringCmd
	var raised *redis.ZSliceCmd
	_, err := m.guard.Read(ctx, m.rdb, func(p redis.Pipeliner) {
		saved = p.HGetAll(ctx, schema.Positions)
		raised = p.ZRangeWithScores(ctx, schema.Raised, 0, -1)
	})
	if err != nil {
		return nil, fmt.Errorf("load positions: %w", err)
	}
	all := saved.Val()
	for _, z := range raised.Val() {
		all[fmt.Sprint(z.Member)] = strconv.FormatUint(uint64(z.Score), 10)
	}
	return all, nil
}

// Save sets one position.
func (m *Map) Save(ctx context.Context, name, position string) error {
	if _, _, err := m.guard.Run(ctx, m.rdb, saveScript, []string{schema.Positions}, name, position); err != nil {
		return fmt.Errorf("save the position of %s: %w", name, err)
	}
	return nil
}

// Raise sets one position that is a number, unless it is that or a higher one.
func (m *Map) Raise(ctx context.Context, name string, to uint64) error {
	if _, _, err := m.guard.Run(ctx, m.rdb, raiseScript, []string{schema.Raised}, name, strconv.FormatUint(to, 10)); err != nil {
		return fmt.Errorf("raise the position of %s: %w", name, err)
	}
	return nil
}

// Note notes something of the hub that has to be acted on.
func (m *Map) Note(ctx context.Context, what string) error {
	if err := m.rdb.SAdd(ctx, schema.Notices, what).Err(); err != nil {
		return fmt.Errorf("note %s: %w", what, err)
	}
	return nil
}

// Noted tells whether something was noted, and not acted on yet.
func (m *Map) Noted(ctx context.Context, what string) (bool, error) {
	noted, err := m.rdb.SIsMember(ctx, schema.Notices, what).Result()
	if err != nil {
		return false, fmt.Errorf("ask whether %s is noted: %w", what, err)
	}
	return noted, nil
}

// Forget says that it was acted on.
func (m *Map) Forget(ctx context.Context, what string) error {
	if err := m.rdb.SRem(ctx, schema.Notices, what).Err(); err != nil {
		return fmt.Errorf("forget %s: %w", what, err)
	}
	return nil
}
