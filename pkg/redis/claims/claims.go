// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package claims keeps, in Redis, which policy holds which template, which
// policies may select a template, and which templates wait for a policy. It is
// the arbiter between stages that work on one template at the same time, and
// the index that spares them lists.
//
// Invariants:
//   - The hub is the record: everything here can be rebuilt from it (Rebuild).
//     Until that is done every method answers outcome.ErrNotBuilt.
//   - One script is one atomic decision. A script is sent again after a lost
//     reply, so doing it twice is the same as doing it once. What is only read is read
//     in transactions, until all of it is of one moment.
//   - A template is in one state at a time: held by one policy, waiting, or unknown.
//   - Record and Park take only what was decided on the index, and on the template's
//     record, as they are now. So if a template is parked while a policy is indexed,
//     either the call is refused and the decision repeated, or Waiting finds the
//     template; and a decision on an old reading of the template never replaces one on
//     a newer reading.
//   - This needs three things of callers: Look comes first, then the template is
//     read from the hub, and the policies that Look named, at Candidate.Version
//     or newer; IndexPolicy comes before Waiting; and a caller that found something
//     gone reads once more after Drop or RemovePolicy.
//   - What is indexed may say too much (a candidate that does not match, a policy
//     that is gone), never too little. Whoever asks checks against the hub.
//
// It must not read the hub, match labels, or choose between policies.
package claims

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/schema"
)

// ErrStale says that the index, or where the template stands, changed between
// Look and what was decided on it. It comes as an outcome.Conflict: look again.
var ErrStale = errors.New("what was looked up has changed")

// Map is the claim map. It may be used by many goroutines.
type Map struct {
	rdb   redis.UniversalClient
	guard schema.Guard
	lease time.Duration
}

// New is the claim map in rdb.
func New(rdb redis.UniversalClient) *Map {
	return &Map{rdb: rdb, guard: schema.Built(), lease: 30 * time.Second}
}

// Candidate is a policy whose selectors may select a template.
type Candidate struct {
	Policy propagation.PolicyKey
	// Since is the resourceVersion of the policy at which its present selectors
	// were first seen, or the rebuild's reading where Redis was lost since.
	Since uint64
	// Version is the newest resourceVersion of the policy that was indexed. A caller that
	// reads an older version of the policy has to read again, for the index is ahead of
	// it.
	Version uint64
	// digest of the selectors that are indexed.
	digest string
}

// SinceOf is Since, if p still has the selectors that are indexed; else 0.
func (c Candidate) SinceOf(p *propagation.Policy) uint64 {
	if digest, err := digestOf(p, SelectorsOf(p)); err != nil || digest != c.digest {
		return 0
	}
	return c.Since
}

// View is what the map knows of one template.
type View struct {
	// Candidates are in no promised order.
	Candidates []Candidate
	// Parked tells whether the template waits for a policy.
	Parked bool
	// Holder is the claim as recorded; the zero Claim: nobody's.
	Holder propagation.Claim
	// Seen is when the template was first seen with the content that it had when
	// it was recorded or parked last; zero: never.
	Seen propagation.Sighting
	// Epoch tells the rebuild that built all this from others.
	Epoch string
	// Revision of the map at this moment: it grows with each change of indexed
	// policies, and of templates' records. Record and Park refuse what was
	// decided before the index or this template changed.
	Revision int64
}

// Record says that c holds the template, as decided on a View of that revision, and
// when its content was first seen. The claim of an earlier holder ends, and the
// template no longer waits.
func (m *Map) Record(ctx context.Context, t propagation.TemplateKey, c propagation.Claim, seen propagation.Sighting, revision int64) error {
	return m.record(ctx, t, c, seen, strconv.FormatInt(revision, 10))
}

func (m *Map) record(ctx context.Context, t propagation.TemplateKey, c propagation.Claim, seen propagation.Sighting, revision string) error {
	if !c.Held() {
		return outcome.Terminal(fmt.Errorf("record %s: no policy claims it", t))
	}
	if err := m.settle(ctx, t, revision, record{claim: c, apiVersion: t.APIVersion, seen: seen}); err != nil {
		return fmt.Errorf("record claim of %s on %s: %w", c.Policy, t, err)
	}
	return nil
}

// Park says that nobody holds the template, as decided on a View of that
// revision, and makes it wait. The labels are kept for Waiting.
func (m *Map) Park(ctx context.Context, t propagation.TemplateKey, labels map[string]string, seen propagation.Sighting, revision int64) error {
	return m.park(ctx, t, labels, seen, strconv.FormatInt(revision, 10))
}

func (m *Map) park(ctx context.Context, t propagation.TemplateKey, labels map[string]string, seen propagation.Sighting, revision string) error {
	if err := m.settle(ctx, t, revision, record{apiVersion: t.APIVersion, labels: labels, seen: seen}); err != nil {
		return fmt.Errorf("park %s: %w", t, err)
	}
	return nil
}

// Drop forgets a template that is gone from the hub. It may have been made anew
// meanwhile: read it once more afterwards.
func (m *Map) Drop(ctx context.Context, t propagation.TemplateKey) error {
	if err := m.settle(ctx, t, anyRevision, record{}); err != nil {
		return fmt.Errorf("drop %s: %w", t, err)
	}
	return nil
}

// Known is which version of a policy Redis knows.
type Known struct {
	// Version is the newest resourceVersion of the policy that was indexed, or whose
	// suspension was set; 0: there is none.
	Version uint64
	// Epoch tells the rebuild that built what is known from others.
	Epoch string
}

// Known returns which version of a policy Redis knows, by its selectors or its
// suspension.
func (m *Map) Known(ctx context.Context, key propagation.PolicyKey) (Known, error) {
	values, err := m.known(ctx, key)
	if err != nil {
		return Known{}, fmt.Errorf("ask how far %s is known: %w", key, err)
	}
	version, err := strconv.ParseUint(values[1], 10, 64)
	if err != nil {
		return Known{}, fmt.Errorf("version of %s: %w", key, err)
	}
	return Known{Version: version, Epoch: values[0]}, nil
}

// Says reports whether the index has the present selectors of p. Until it does, a write
// that moves p's resourceVersion makes p look younger than it is (Candidate.Since).
func (m *Map) Says(ctx context.Context, p *propagation.Policy) (bool, error) {
	values, err := m.known(ctx, p.Key)
	if err != nil {
		return false, fmt.Errorf("ask what is known of %s: %w", p.Key, err)
	}
	digest, err := digestOf(p, SelectorsOf(p))
	if err != nil {
		return false, fmt.Errorf("ask what is known of %s: %w", p.Key, err)
	}
	return digest == values[2], nil
}

// PositionHub is the position (pkg/redis/positions) that holds the newest version of the
// hub that is known. A look at the hub raises it, and so does the applier
// before it writes to a member, with the version of what is written (pkg/redis/suspension).
const PositionHub = schema.PositionHub

// NoticeBack is the notice that the hub was restored to an earlier state. It stays
// until what members have has been checked.
const NoticeBack = "the hub went back"

// WentBack records that the hub was restored to an earlier state, and marks Redis as
// not built. The proof is what Redis knew in that epoch: if it was rebuilt meanwhile,
// nothing changes.
func (m *Map) WentBack(ctx context.Context, epoch string) error {
	if err := m.back(ctx, epoch); err != nil {
		return fmt.Errorf("say that the hub went back: %w", err)
	}
	return nil
}

// Built tells whether Redis has been built from the hub.
func (m *Map) Built(ctx context.Context) (bool, error) {
	n, err := m.rdb.Exists(ctx, schema.Epoch).Result()
	if err != nil {
		return false, fmt.Errorf("ask for the epoch: %w", err)
	}
	return n == 1, nil
}
