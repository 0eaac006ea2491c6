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

// PolicyHistory is how many contents of a policy are kept, the present one included.
const PolicyHistory = 10

// mostRevisions is above every number that a revision can come to have.
const mostRevisions = 1 << 53

// PolicyRevision is what a policy said once. Who may write ControllerRevisions may write
// anything into it: it is believed as far as PolicyRevision.Of tells.
type PolicyRevision struct {
	Namespace string
	Name      string
	UID       types.UID
	// Number grows by one with each content that was not kept already.
	Number int64
	// Spec of the policy as decoded JSON; nil: there is none.
	Spec map[string]any
}

// Revision is what the policy says now, as it is kept, without a number.
func (p *Policy) Revision() *PolicyRevision {
	spec := jsonOf(p.Spec)
	return &PolicyRevision{
		Namespace: cmp.Or(p.Key.Namespace, SystemNamespace), Name: PolicyRevisionName(p.Key, p.UID, HashJSON(spec)), Spec: spec,
	}
}

// Of tells whether the revision is one of that policy: its name is that of its content.
func (r *PolicyRevision) Of(p *Policy) bool {
	return r.Spec != nil && r.Name == PolicyRevisionName(p.Key, p.UID, HashJSON(r.Spec))
}

// Keep is the revision that is missing of what the policy says, and those that go
// beyond PolicyHistory with it: the oldest, of what is kept under the policy's label.
// What is there already keeps its number; then nothing is to be done, and next is nil.
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

// compareBool has what is not true first.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// jsonOf is v as decoded JSON.
func jsonOf(v any) map[string]any {
	var m map[string]any
	if raw, err := json.Marshal(v); err == nil {
		_ = utiljson.Unmarshal(raw, &m)
	}
	return m
}
