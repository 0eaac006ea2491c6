// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/redis/schema"
)

// Look reads what is known of a template, and what a decision about it needs.
func (m *Map) Look(ctx context.Context, t propagation.TemplateKey) (View, error) {
	v, err := m.look(ctx, t)
	if err != nil {
		return View{}, fmt.Errorf("look up %s: %w", t, err)
	}
	return v, nil
}

// look reads which policies may select the template, and then what is known of these. It
// starts again where the index changed in between, so a View is of one moment.
func (m *Map) look(ctx context.Context, t propagation.TemplateKey) (View, error) {
	for {
		found, err := m.find(ctx, t)
		if err != nil {
			return View{}, err
		}
		v, err := found.view()
		if err != nil || len(found.policies) == 0 {
			return v, err
		}
		known, same, err := m.knownOf(ctx, found)
		if err != nil {
			return View{}, err
		}
		if same {
			v.Candidates, err = candidates(found.policies, known)
			return v, err
		}
	}
}

// found is what Redis has of one template at one moment.
type found struct {
	epoch    string
	revision string
	indexed  string // the revision of the index
	record   string // what is kept of the template; empty: nothing is
	policies []string
}

func (m *Map) find(ctx context.Context, t propagation.TemplateKey) (found, error) {
	var revision, indexed, record *redis.StringCmd
	var selecting []*redis.StringSliceCmd
	entries := entriesFor(t)
	epoch, err := m.guard.Read(ctx, m.rdb, func(p redis.Pipeliner) {
		revision, indexed = p.Get(ctx, schema.Revision), p.Get(ctx, schema.Indexed)
		record = p.HGet(ctx, schema.Templates, t.ID())
		for _, e := range entries {
			selecting = append(selecting, p.ZRangeByLex(ctx, schema.Index, &redis.ZRangeBy{Min: "[" + e + "\n", Max: "(" + e + "\n\xff"}))
		}
	})
	if err != nil {
		return found{}, err
	}
	f := found{epoch: epoch, revision: revision.Val(), indexed: indexed.Val(), record: record.Val()}
	for i, read := range selecting {
		for _, member := range read.Val() {
			if policy := member[len(entries[i])+1:]; !slices.Contains(f.policies, policy) {
				f.policies = append(f.policies, policy)
			}
		}
	}
	return f, nil
}

// view is a View without candidates.
func (f found) view() (View, error) {
	revision, err := strconv.ParseInt(f.revision, 10, 64)
	if err != nil {
		return View{}, fmt.Errorf("revision: %w", err)
	}
	v := View{Epoch: f.epoch, Revision: revision}
	if f.record == "" {
		return v, nil
	}
	r, err := parseRecord(f.record)
	if err != nil {
		return View{}, err
	}
	v.Holder, v.Parked, v.Seen = r.claim, !r.claim.Held(), r.seen
	return v, nil
}

// knownOf reads what is known of the policies, and whether the index is the same.
func (m *Map) knownOf(ctx context.Context, f found) (known []any, same bool, err error) {
	var indexed *redis.StringCmd
	var read *redis.SliceCmd
	epoch, err := m.guard.Read(ctx, m.rdb, func(p redis.Pipeliner) {
		indexed = p.Get(ctx, schema.Indexed)
		read = p.HMGet(ctx, schema.Policies, f.policies...)
	})
	if err != nil {
		return nil, false, err
	}
	return read.Val(), epoch == f.epoch && indexed.Val() == f.indexed, nil
}

// candidates are the policies with what is known of each.
func candidates(policies []string, known []any) ([]Candidate, error) {
	var all []Candidate
	for i, id := range policies {
		line, is := known[i].(string)
		if !is {
			continue // an entry of a policy that is not known
		}
		c := Candidate{}
		var err error
		if c.Policy, err = propagation.ParsePolicyID(id); err != nil {
			return nil, err
		}
		if _, err := fmt.Sscanf(line, "%d %d %s", &c.Version, &c.Since, &c.digest); err != nil {
			return nil, fmt.Errorf("versions of %s: %w", c.Policy, err)
		}
		all = append(all, c)
	}
	return all, nil
}
