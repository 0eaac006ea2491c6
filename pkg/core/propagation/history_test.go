// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

func TestAPolicyKeepsWhatItSaid(t *testing.T) {
	key := propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "pp"}
	policy := func(priority int32) *propagation.Policy {
		return &propagation.Policy{Key: key, UID: "one", Spec: policyv1alpha1.PropagationSpec{Priority: &priority}}
	}
	kept := func(priority int32, number int64) *propagation.PolicyRevision {
		r := policy(priority).Revision()
		r.Number = number
		return r
	}
	forged := func(name string, number int64) *propagation.PolicyRevision {
		return &propagation.PolicyRevision{Namespace: "shop", Name: name, Number: number, Spec: map[string]any{"priority": int64(99)}}
	}
	var ten []*propagation.PolicyRevision
	for i := range int32(10) {
		ten = append(ten, kept(i+1, int64(i+1)))
	}
	for name, tc := range map[string]struct {
		kept       []*propagation.PolicyRevision
		says       int32
		wantNumber int64
		wantDrop   []string
	}{
		"the first":                            {says: 1, wantNumber: 1},
		"another":                              {kept: ten[:3], says: 11, wantNumber: 4},
		"what is kept":                         {kept: ten[:3], says: 3},
		"what was said before":                 {kept: ten, says: 1},
		"the eleventh":                         {kept: ten, says: 11, wantNumber: 11, wantDrop: []string{ten[0].Name}},
		"what nobody made goes first":          {kept: append(slices.Clone(ten[:9]), forged("x", 1<<62)), says: 11, wantNumber: 10, wantDrop: []string{"x"}},
		"another's content is in its place":    {kept: []*propagation.PolicyRevision{ten[0], forged(policy(11).Revision().Name, 5)}, says: 11, wantNumber: 2, wantDrop: []string{policy(11).Revision().Name}},
		"a number that nobody comes to":        {kept: []*propagation.PolicyRevision{kept(1, 1<<62)}, says: 2, wantNumber: 1},
		"what has no content is nobody's":      {kept: []*propagation.PolicyRevision{{Name: "y", Number: 7}}, says: 1, wantNumber: 1},
		"a former policy of that name is none": {kept: []*propagation.PolicyRevision{(&propagation.Policy{Key: key, UID: "two"}).Revision()}, says: 1, wantNumber: 1},
	} {
		t.Run(name, func(t *testing.T) {
			next, drop := policy(tc.says).Keep(tc.kept)
			var dropped []string
			for _, r := range drop {
				dropped = append(dropped, r.Name)
			}
			if !slices.Equal(dropped, tc.wantDrop) {
				t.Errorf("drops %q, want %q", dropped, tc.wantDrop)
			}
			switch {
			case tc.wantNumber == 0 && next != nil:
				t.Errorf("keeps %+v, want nothing", next)
			case tc.wantNumber == 0:
			case next == nil || next.Number != tc.wantNumber || !next.Of(policy(tc.says)) || next.Namespace != "shop":
				t.Errorf("keeps %+v, want number %d", next, tc.wantNumber)
			}
		})
	}
}

func TestTheRevisionOfAPolicySaysWhatItSaid(t *testing.T) {
	for _, scope := range propagation.Scopes {
		key := propagation.PolicyKey{Scope: scope, Name: strings.Repeat("n", 253)}
		where := propagation.SystemNamespace
		if scope == propagation.Namespaced {
			key.Namespace, where = "shop", "shop"
		}
		priority := int32(7)
		p := &propagation.Policy{Key: key, UID: "one", Spec: policyv1alpha1.PropagationSpec{Priority: &priority, ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "ConfigMap"}}}}
		r := p.Revision()
		var spec policyv1alpha1.PropagationSpec
		raw, err := json.Marshal(r.Spec)
		if err == nil {
			err = json.Unmarshal(raw, &spec)
		}
		if err != nil || fmt.Sprint(*spec.Priority, spec.ResourceSelectors) != fmt.Sprint(priority, p.Spec.ResourceSelectors) {
			t.Errorf("it says %+v, %v", spec, err)
		}
		if len(r.Name) > 253 || r.Namespace != where || !r.Of(p) {
			t.Errorf("%s: %+v", scope, r)
		}
		r.Spec["priority"] = int64(8)
		if r.Of(p) {
			t.Errorf("%s: other content passes for its own", scope)
		}
	}
}
