// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/schema"
)

var (
	//go:embed settle.lua
	settleSource string
	//go:embed index.lua
	indexSource string
	//go:embed remove.lua
	removeSource string
	//go:embed list.lua
	listSource string
	//go:embed scan.lua
	scanSource string
	//go:embed count.lua
	countSource string
	//go:embed begin.lua
	beginSource string
	//go:embed extend.lua
	extendSource string
	//go:embed known.lua
	knownSource string
	//go:embed back.lua
	backSource string
	//go:embed reach.lua
	reachSource string
	//go:embed finish.lua
	finishSource string

	settleScript = schema.Guarded(settleSource)
	indexScript  = schema.Guarded(indexSource)
	removeScript = schema.Guarded(removeSource)
	listScript   = schema.Guarded(listSource)
	scanScript   = schema.Guarded(scanSource)
	countScript  = schema.Guarded(countSource)
	beginScript  = schema.Unguarded(beginSource)
	extendScript = schema.Guarded(extendSource)
	reachScript  = schema.Guarded(reachSource)
	finishScript = schema.Guarded(finishSource)
	knownScript  = schema.Guarded(knownSource)
	backScript   = schema.Guarded(backSource)
)

// run runs a guarded script whose reply has at least want values.
func (m *Map) run(ctx context.Context, s *redis.Script, want int, keys []string, args ...any) (schema.Status, []string, error) {
	status, values, err := m.guard.Run(ctx, m.rdb, s, keys, args...)
	switch {
	case err != nil:
		return status, nil, err
	case status == schema.Stale:
		return status, nil, outcome.Conflict(ErrStale)
	case len(values) < want:
		return status, nil, fmt.Errorf("script replied %d values, want %d", len(values), want)
	}
	return status, values, nil
}

// anyRevision stands for a decision that does not depend on the index.
const anyRevision = ""

func (m *Map) settle(ctx context.Context, t propagation.TemplateKey, revision string, r record) error {
	keys := []string{schema.Revision, schema.Indexed, schema.Templates, schema.Held, schema.Waiting}
	_, _, err := m.run(ctx, settleScript, 0, keys, t.ID(), revision, r.encode(), waitingByNamespace(t), waitingByName(t))
	return err
}

func (m *Map) index(ctx context.Context, key propagation.PolicyKey, version uint64, digest string, entries []string) (since uint64, changed bool, err error) {
	keys := []string{schema.Revision, schema.Policies, schema.Selectors, schema.Index, schema.Indexed}
	head := []string{key.ID(), strconv.FormatUint(version, 10), digest}
	status, values, err := m.run(ctx, indexScript, 1, keys, anys(head, entries)...)
	if err != nil {
		return 0, false, err
	}
	since, err = strconv.ParseUint(values[0], 10, 64)
	return since, status == schema.Done, err
}

func (m *Map) known(ctx context.Context, key propagation.PolicyKey) ([]string, error) {
	_, values, err := m.run(ctx, knownScript, 3, []string{schema.Policies, schema.PolicySuspensions}, key.ID())
	return values, err
}

// back does nothing in another epoch.
func (m *Map) back(ctx context.Context, epoch string) error {
	keys := []string{schema.Progress, schema.Notices}
	_, _, err := schema.BuiltIn(epoch).Run(ctx, m.rdb, backScript, keys, NoticeBack)
	if errors.Is(err, outcome.ErrNotBuilt) {
		return nil
	}
	return err
}

func (m *Map) remove(ctx context.Context, key propagation.PolicyKey) error {
	keys := []string{schema.Revision, schema.Policies, schema.Selectors, schema.Index, schema.Indexed}
	_, _, err := m.run(ctx, removeScript, 0, keys, key.ID())
	return err
}

// list reads at most n members and their records, in order.
func (m *Map) list(ctx context.Context, set string, ranges []span, n int) ([]string, error) {
	args := []string{strconv.Itoa(n)}
	for _, r := range ranges {
		args = append(args, r.first(), r.last())
	}
	_, values, err := m.run(ctx, listScript, 0, []string{set, schema.Templates}, anys(args)...)
	return values, err
}

// atEnd is where a scan begins, and what says that it has ended.
const atEnd = "0"

// scan reads about n of the templates whose ids match the pattern, as pairs of an id and
// what is kept, and where to go on.
func (m *Map) scan(ctx context.Context, pattern, at string, n int) (next string, pairs []string, err error) {
	_, values, err := m.run(ctx, scanScript, 1, []string{schema.Templates}, at, pattern, n)
	if err != nil {
		return "", nil, err
	}
	if len(values)%2 != 1 {
		return "", nil, fmt.Errorf("script replied %d values", len(values))
	}
	return values[0], values[1:], nil
}

func (m *Map) count(ctx context.Context, r span) (int64, error) {
	_, values, err := m.run(ctx, countScript, 1, []string{schema.Held}, r.first(), r.last())
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(values[0], 10, 64)
}

// begin also tells how far another rebuild came, by its parts.
func begin(ctx context.Context, rdb redis.Scripter, token string, lease time.Duration) (schema.Status, map[string]string, error) {
	keys := append([]string{schema.Epoch, schema.Lock}, schema.Data()...)
	status, values, err := schema.Run(ctx, rdb, beginScript, keys, token, lease.Milliseconds())
	if err == nil && len(values)%2 != 0 {
		err = fmt.Errorf("script replied %d values", len(values))
	}
	if err != nil {
		return status, nil, err
	}
	reached := map[string]string{}
	for pair := range slices.Chunk(values, 2) {
		reached[pair[0]] = pair[1]
	}
	return status, reached, nil
}

func (m *Map) reach(ctx context.Context, part, at string) error {
	_, _, err := m.run(ctx, reachScript, 0, []string{schema.Progress}, part, at, resumable.Milliseconds())
	return err
}

func (m *Map) extend(ctx context.Context, d time.Duration) error {
	_, _, err := m.run(ctx, extendScript, 0, nil, d.Milliseconds())
	return err
}

func (m *Map) finish(ctx context.Context) error {
	_, _, err := m.run(ctx, finishScript, 0, []string{schema.Epoch, schema.Progress})
	return err
}

func anys(lists ...[]string) []any {
	var all []any
	for _, list := range lists {
		for _, s := range list {
			all = append(all, s)
		}
	}
	return all
}
