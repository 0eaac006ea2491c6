// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package suspension keeps, in Redis, the brake that stands in front of every
// write to a member: a flag for each suspended policy and binding, which takes
// effect with one write, whatever the number of Works behind it.
//
// Invariants:
//   - Check asks for everything in one script. It answers "not suspended" only
//     where Redis was built and says so; any error means: do not write.
//   - What holds a template is taken from the claim map, so a flag follows the
//     claim.
//   - An older version of an object does not undo what a newer one said.
//
// It must not read the hub. A Work's own field is another brake, not its affair.
package suspension

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/redis/schema"
)

var (
	//go:embed set.lua
	setSource string
	//go:embed check.lua
	checkSource string

	setScript   = schema.Guarded(setSource)
	checkScript = schema.Guarded(checkSource)
)

// Flag says to which clusters nothing may be written. The zero Flag: none.
type Flag struct {
	// All clusters.
	All bool
	// Clusters by name.
	Clusters []string
	// Version is the resourceVersion of the object that says so. A flag is not
	// replaced by one of an older object. 0, as of somebody who speaks for
	// himself: replaces any.
	Version uint64
}

// Verdict tells whether a cluster may be written to.
type Verdict struct {
	Suspended bool
	// By whom, for people: "policy shop/nginx", "binding shop/nginx-deployment".
	By string
}

// Flags are the suspension flags. They may be used by many goroutines.
type Flags struct {
	rdb   redis.UniversalClient
	guard schema.Guard
}

// New is the flags in rdb.
func New(rdb redis.UniversalClient) *Flags { return Guarded(rdb, schema.Built()) }

// Guarded is the flags behind another guard, for a rebuild.
func Guarded(rdb redis.UniversalClient, guard schema.Guard) *Flags {
	return &Flags{rdb: rdb, guard: guard}
}

// SetPolicy sets the flag of all templates that a policy holds.
func (f *Flags) SetPolicy(ctx context.Context, key propagation.PolicyKey, v Flag) error {
	if err := f.set(ctx, schema.PolicyFlags, key.ID(), v); err != nil {
		return fmt.Errorf("set suspension of %s: %w", key, err)
	}
	return nil
}

// SetBinding sets the flag of one binding.
func (f *Flags) SetBinding(ctx context.Context, key propagation.BindingKey, v Flag) error {
	if err := f.set(ctx, schema.BindingFlags, key.ID(), v); err != nil {
		return fmt.Errorf("set suspension of %s: %w", key, err)
	}
	return nil
}

// Check tells whether t, whose binding is b, may be written to a cluster: neither
// the policy that holds it nor the binding is suspended there.
func (f *Flags) Check(ctx context.Context, t propagation.TemplateKey, b propagation.BindingKey, cluster string) (Verdict, error) {
	v, err := f.check(ctx, t, b, cluster)
	if err != nil {
		return Verdict{}, fmt.Errorf("check suspension of %s: %w", t, err)
	}
	return v, nil
}

func (f *Flags) check(ctx context.Context, t propagation.TemplateKey, b propagation.BindingKey, cluster string) (Verdict, error) {
	keys := []string{schema.Templates, schema.PolicyFlags, schema.BindingFlags}
	_, values, err := f.guard.Run(ctx, f.rdb, checkScript, keys, t.ID(), b.ID())
	if err != nil {
		return Verdict{}, err
	}
	if len(values) != 3 {
		return Verdict{}, fmt.Errorf("script replied %d values", len(values))
	}
	byPolicy, err := covers(values[1], cluster)
	if err != nil {
		return Verdict{}, err
	}
	if byPolicy {
		policy, err := propagation.ParsePolicyID(values[0])
		return Verdict{Suspended: true, By: policy.String()}, err
	}
	byBinding, err := covers(values[2], cluster)
	if err != nil || !byBinding {
		return Verdict{}, err
	}
	return Verdict{Suspended: true, By: b.String()}, nil
}

func (f *Flags) set(ctx context.Context, flags, id string, v Flag) error {
	_, _, err := f.guard.Run(ctx, f.rdb, setScript, []string{flags}, id, strconv.FormatUint(v.Version, 10), v.encode())
	return err
}

// stored is a Flag as Redis has it; its version stands beside.
type stored struct {
	All      bool     `json:"all,omitempty"`
	Clusters []string `json:"clusters,omitempty"`
}

// encode is empty where nothing is suspended, and the same for the same clusters.
func (v Flag) encode() string {
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

func covers(flag, cluster string) (bool, error) {
	if flag == "" {
		return false, nil
	}
	var s stored
	if err := json.Unmarshal([]byte(flag), &s); err != nil {
		return false, fmt.Errorf("flag: %w", err)
	}
	return s.All || slices.Contains(s.Clusters, cluster), nil
}

// FlagOf is the flag that a policy raises.
func FlagOf(p *propagation.Policy) Flag {
	all, clusters := p.Spec.Suspension.Dispatch()
	return Flag{All: all, Clusters: clusters, Version: propagation.Version(p.ResourceVersion)}
}
