// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package redistest

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// After runs do once, when the client's next transaction is over: what happens between
// two transactions of one call.
func After(c *redis.Client, do func()) { c.AddHook(&after{do: do}) }

type after struct {
	once sync.Once
	do   func()
}

func (a *after) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (a *after) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (a *after) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		a.once.Do(a.do)
		return err
	}
}
