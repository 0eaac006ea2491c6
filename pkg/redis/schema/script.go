// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/outcome"
)

// Status is the first thing that a script returns.
type Status int64

// The statuses of all scripts. Scripts know them by the names in codes.
const (
	// Lost: the guard does not hold; nothing was done.
	Lost Status = iota
	// Done: what was asked for is done, or read.
	Done
	// Same: nothing was done, for nothing had to be.
	Same
	// Stale: nothing was done, for what was looked at has changed.
	Stale
	// Busy: nothing was done, for another rebuild holds Lock.
	Busy
)

const codes = "local LOST, DONE, SAME, STALE, BUSY = 0, 1, 2, 3, 4\n"

//go:embed guard.lua
var guard string

// Guarded is a script behind the check of guard.lua: KEYS[1] and ARGV[1] are the
// guard's, its own begin at 2. Run it with Guard.Run.
func Guarded(src string) *redis.Script { return redis.NewScript(codes + guard + src) }

// Unguarded is a script that runs even where nothing was built.
func Unguarded(src string) *redis.Script { return redis.NewScript(codes + src) }

// Guard is the condition for a script to do anything: a key that must be there.
type Guard struct {
	key, value string
	lost       error
}

// Built guards what everybody does: Redis has been built. Elsewise the error is
// outcome.ErrNotBuilt.
func Built() Guard { return Guard{key: Epoch, lost: outcome.ErrNotBuilt} }

// BuiltIn is Built for what follows from what Redis knew in one epoch.
func BuiltIn(epoch string) Guard { return Guard{key: Epoch, value: epoch, lost: outcome.ErrNotBuilt} }

// Building guards what a rebuild does: Lock still has its token. Elsewise the
// error is lost.
func Building(token string, lost error) Guard { return Guard{key: Lock, value: token, lost: lost} }

// Run runs a script made by Guarded.
func (g Guard) Run(ctx context.Context, rdb redis.Scripter, s *redis.Script, keys []string, args ...any) (Status, []string, error) {
	keys = append([]string{g.key}, keys...)
	args = append([]any{g.value}, args...)
	status, values, err := Run(ctx, rdb, s, keys, args...)
	if err == nil && status == Lost {
		return Lost, nil, g.lost
	}
	return status, values, err
}

// Read runs plain commands as one transaction, and returns the guard's value. Nil is no
// error: afterwards Val of each command is what it read, or zero. What only reads needs
// no script, and the embedded Redis makes a Lua interpreter of 180 KiB for each.
func (g Guard) Read(ctx context.Context, rdb redis.UniversalClient, commands func(redis.Pipeliner)) (string, error) {
	var value *redis.StringCmd
	done, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		value = p.Get(ctx, g.key)
		commands(p)
		return nil
	})
	for _, c := range done {
		if err := c.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return "", err
		}
	}
	switch {
	case err != nil && !errors.Is(err, redis.Nil):
		return "", err
	case value.Err() != nil, g.value != "" && value.Val() != g.value:
		return "", g.lost
	}
	return value.Val(), nil
}

// Run runs any script and takes its reply apart: a status, then strings.
func Run(ctx context.Context, rdb redis.Scripter, s *redis.Script, keys []string, args ...any) (Status, []string, error) {
	reply, err := s.Run(ctx, rdb, keys, args...).Slice()
	if err != nil {
		return Lost, nil, err
	}
	if len(reply) == 0 {
		return Lost, nil, fmt.Errorf("script replied nothing")
	}
	status, ok := reply[0].(int64)
	if !ok {
		return Lost, nil, fmt.Errorf("script replied status %v", reply[0])
	}
	values := make([]string, len(reply)-1)
	for i, v := range reply[1:] {
		if values[i], ok = v.(string); !ok {
			return Lost, nil, fmt.Errorf("script replied %T at %d, want a string", v, i+1)
		}
	}
	return Status(status), values, nil
}
