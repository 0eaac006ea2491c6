// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"cmp"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// PolicyHistory is how many specs of a policy are kept, including the present one.
const PolicyHistory = 10

// mostRevisions is a limit above every number that a revision can reach.
const mostRevisions = 1 << 53

// PolicyRevision is a spec that a policy had at some time. Whoever may write
// ControllerRevisions may forge one: PolicyRevision.Of tells whether it is genuine.
type PolicyRevision struct {
	Namespace string
	Name      string
	UID       types.UID
	// Number grows by one with each spec that is not kept yet.
	Number int64
	// Spec of the policy as decoded JSON; nil: the revision has none.
	Spec map[string]any
}

// Revision returns the revision of the policy's present spec, without a number.
func (p *Policy) Revision() *PolicyRevision {
	spec := jsonOf(p.Spec)
	return &PolicyRevision{
		Namespace: cmp.Or(p.Key.Namespace, SystemNamespace), Name: PolicyRevisionName(p.Key, p.UID, HashJSON(spec)), Spec: spec,
	}
}

// Of reports whether the revision is genuine and the policy's: its name is derived from
// its content.
func (r *PolicyRevision) Of(p *Policy) bool {
	return r.Spec != nil && r.Name == PolicyRevisionName(p.Key, p.UID, HashJSON(r.Spec))
}

// Keep returns the revision to store for the policy's present spec, and those to
// delete, the oldest beyond PolicyHistory among those kept under the policy's label. If
// the present spec is stored already, it keeps its number, and next and drop are nil.
func (p *Policy) Keep(kept []*PolicyRevision) (next *PolicyRevision, drop []*PolicyRevision) {
	next = p.Revision()
	next.Number = 1
	others := make([]*PolicyRevision, 0, len(kept))
	for _, r := range kept {
		switch genuine := r.Of(p); {
		case genuine && r.Name == next.Name:
			return nil, nil
		case r.Name == next.Name: // it has to make room
			drop = append(drop, r)
			continue
		case genuine && r.Number < mostRevisions:
			next.Number = max(next.Number, r.Number+1)
		}
		others = append(others, r)
	}
	slices.SortFunc(others, func(a, b *PolicyRevision) int {
		return cmp.Or(compareBool(a.Of(p), b.Of(p)), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Name, b.Name))
	})
	if excess := len(others) + 1 - PolicyHistory; excess > 0 {
		drop = append(drop, others[:excess]...)
	}
	return next, drop
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// jsonOf returns v as decoded JSON.
func jsonOf(v any) map[string]any {
	var m map[string]any
	if raw, err := json.Marshal(v); err == nil {
		_ = utiljson.Unmarshal(raw, &m)
	}
	return m
}
