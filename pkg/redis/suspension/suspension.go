// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package suspension keeps, in Redis, which policies and bindings are suspended. The
// applier checks it before each write to a member, so one write here suspends all Works
// of a policy, however many there are.
//
// Invariants:
//   - Check answers what was so at one moment. It answers "not suspended" only where
//     Redis was built and says so; any error means: do not write.
//   - Which policy holds a template is read from the claim map, so a policy's
//     suspension follows the claim.
//   - An older version of an object does not undo what a newer one said.
//   - Before anything is written to a member, Redis knows the hub's version that asked
//     for it: so it is noticed if the hub is restored to a state before that version.
//
// It must not read the hub. The suspension that a Work's own field says is checked by
// the applier itself.
package suspension

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/redis/schema"
)

var (
	//go:embed set.lua
	setSource string

	setScript = schema.Guarded(setSource)
)

// Suspension names the clusters that nothing may be written to. The zero Suspension
// names none.
type Suspension struct {
	// All clusters.
	All bool
	// Clusters by name.
	Clusters []string
	// Version is the resourceVersion of the object that says so. A suspension does not
	// replace one of a newer version; with version 0 it replaces any.
	Version uint64
}

// Verdict tells whether a cluster may be written to.
type Verdict struct {
	Suspended bool
	// By whom, for people: "policy shop/nginx", "binding shop/nginx-deployment".
	By string
}

// Map is the suspensions of all policies and bindings. It may be used by many
// goroutines.
type Map struct {
	rdb   redis.UniversalClient
	guard schema.Guard
}

// New returns the suspensions in rdb.
func New(rdb redis.UniversalClient) *Map { return Guarded(rdb, schema.Built()) }

// Guarded returns the suspensions in rdb behind another guard, for a rebuild.
func Guarded(rdb redis.UniversalClient, guard schema.Guard) *Map {
	return &Map{rdb: rdb, guard: guard}
}

// SetPolicy sets the suspension of all templates that a policy holds.
func (m *Map) SetPolicy(ctx context.Context, key propagation.PolicyKey, v Suspension) error {
	if err := m.set(ctx, schema.PolicySuspensions, key.ID(), v); err != nil {
		return fmt.Errorf("set suspension of %s: %w", key, err)
	}
	return nil
}

// SetBinding sets the suspension of one binding.
func (m *Map) SetBinding(ctx context.Context, key propagation.BindingKey, v Suspension) error {
	if err := m.set(ctx, schema.BindingSuspensions, key.ID(), v); err != nil {
		return fmt.Errorf("set suspension of %s: %w", key, err)
	}
	return nil
}

// Check tells whether t, whose binding is b, may be written to a cluster: neither the
// policy that holds it nor the binding is suspended there. version is the hub's version
// of what is to be written; Redis notes that the hub has reached it.
func (m *Map) Check(ctx context.Context, t propagation.TemplateKey, b propagation.BindingKey, cluster string, version uint64) (Verdict, error) {
	v, err := m.check(ctx, t, b, cluster, version)
	if err != nil {
		return Verdict{}, fmt.Errorf("check suspension of %s: %w", t, err)
	}
	return v, nil
}

func (m *Map) check(ctx context.Context, t propagation.TemplateKey, b propagation.BindingKey, cluster string, version uint64) (Verdict, error) {
	s, err := m.state(ctx, t.ID(), b.ID(), version)
	if err != nil {
		return Verdict{}, err
	}
	byPolicy, err := covers(s.ofPolicy, cluster)
	if err != nil {
		return Verdict{}, err
	}
	if byPolicy {
		policy, err := propagation.ParsePolicyID(s.policy)
		return Verdict{Suspended: true, By: policy.String()}, err
	}
	byBinding, err := covers(s.ofBinding, cluster)
	if err != nil || !byBinding {
		return Verdict{}, err
	}
	return Verdict{Suspended: true, By: b.String()}, nil
}

// state is what Redis says of a template at one moment.
type state struct {
	policy              string // id of the policy that holds it; empty: none does
	ofPolicy, ofBinding string // their suspensions
	known               uint64 // the hub's version
}

// state reads until it has read, at one moment, which policy holds the template and what
// that policy says, and until Redis knows the version.
func (m *Map) state(ctx context.Context, template, binding string, version uint64) (s state, err error) {
	for first := true; ; first = false {
		raise := !first && s.known < version // once Redis is known to be built
		before := s.policy
		s, err = m.read(ctx, template, before, binding, raise, version)
		if err != nil || s.policy == before && (raise || s.known >= version) {
			return s, err
		}
	}
}

// read reads at one moment what is said of the template and its binding, and of a policy;
// if raise is set, it makes the hub's version known first.
func (m *Map) read(ctx context.Context, template, policy, binding string, raise bool, version uint64) (state, error) {
	var record, ofPolicy, ofBinding *redis.StringCmd
	var known *redis.FloatCmd
	_, err := m.guard.Read(ctx, m.rdb, func(p redis.Pipeliner) {
		if raise {
			p.ZAddGT(ctx, schema.Raised, redis.Z{Member: schema.PositionHub, Score: float64(version)})
		}
		known = p.ZScore(ctx, schema.Raised, schema.PositionHub)
		record = p.HGet(ctx, schema.Templates, template)
		ofPolicy = p.HGet(ctx, schema.PolicySuspensions, policy)
		ofBinding = p.HGet(ctx, schema.BindingSuspensions, binding)
	})
	if err != nil {
		return state{}, err
	}
	// The second line of what is kept of a template is the policy that holds it, and of a
	// suspension what it says.
	_, rest, _ := strings.Cut(record.Val(), "\n")
	holder, _, _ := strings.Cut(rest, "\n")
	_, says, _ := strings.Cut(ofPolicy.Val(), "\n")
	_, too, _ := strings.Cut(ofBinding.Val(), "\n")
	return state{policy: holder, ofPolicy: says, ofBinding: too, known: uint64(known.Val())}, nil
}

func (m *Map) set(ctx context.Context, key, id string, v Suspension) error {
	if v.Version == 0 && v.encode() == "" { // mostly there is nothing to lift
		var kept *redis.StringCmd
		_, err := m.guard.Read(ctx, m.rdb, func(p redis.Pipeliner) { kept = p.HGet(ctx, key, id) })
		if err != nil || kept.Val() == "" {
			return err
		}
	}
	_, _, err := m.guard.Run(ctx, m.rdb, setScript, []string{key}, id, strconv.FormatUint(v.Version, 10), v.encode())
	return err
}

// stored is a Suspension as Redis has it; its version stands beside.
type stored struct {
	All      bool     `json:"all,omitempty"`
	Clusters []string `json:"clusters,omitempty"`
}

// encode is empty where nothing is suspended, and the same for the same clusters.
func (v Suspension) encode() string {
	if !v.All && len(v.Clusters) == 0 {
		return ""
	}
	s := stored{All: v.All}
	if !v.All {
		s.Clusters = slices.Compact(slices.Sorted(slices.Values(v.Clusters)))
	}
	encoded, _ := json.Marshal(s) // strings and a bool: cannot fail
	return string(encoded)
}

func covers(suspension, cluster string) (bool, error) {
	if suspension == "" {
		return false, nil
	}
	var s stored
	if err := json.Unmarshal([]byte(suspension), &s); err != nil {
		return false, fmt.Errorf("suspension: %w", err)
	}
	return s.All || slices.Contains(s.Clusters, cluster), nil
}

// Of returns the suspension that a policy asks for.
func Of(p *propagation.Policy) Suspension {
	all, clusters := p.Spec.Suspension.Dispatch()
	return Suspension{All: all, Clusters: clusters, Version: propagation.Version(p.ResourceVersion)}
}
