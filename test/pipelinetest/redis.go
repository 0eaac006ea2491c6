// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// ErrRedisDown is what commands get while Redis is down.
var ErrRedisDown = errors.New("redis is down")

// Redis is the Redis that standalone embeds, and a client whose commands can be
// kept from it.
type Redis struct {
	*redis.Client
	Server *miniredis.Miniredis
	// Ask stands in front of each command, and may refuse it. run does it, so
	// that an answer can be lost too. nil: every command is done.
	Ask func(ctx context.Context, run func() error) error
}

// StartRedis starts a Redis, which Close ends.
func StartRedis() (*Redis, error) {
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	r := &Redis{Server: m, Client: redis.NewClient(&redis.Options{
		Addr: m.Addr(), MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, PoolSize: 1,
		// An answer is lost where a test wants it, and never because the machine is busy.
		DialTimeout: time.Minute, ReadTimeout: -1, WriteTimeout: -1, PoolTimeout: time.Hour,
	})}
	r.AddHook(asking{r})
	return r, nil
}

// Stop ends it.
func (r *Redis) Stop() {
	_ = r.Close()
	r.Server.Close()
}

// Pass lets time pass in Redis, up to now.
func (r *Redis) Pass(d time.Duration, now time.Time) {
	r.Server.SetTime(now)
	r.Server.FastForward(d)
}

// asking puts Ask in front of the commands.
type asking struct{ r *Redis }

func (a asking) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (a asking) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a asking) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if a.r.Ask == nil {
			return next(ctx, cmd)
		}
		err := a.r.Ask(ctx, func() error { return next(ctx, cmd) })
		if err != nil && cmd.Err() == nil {
			cmd.SetErr(err)
		}
		return err
	}
}
