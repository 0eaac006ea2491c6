// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package dependencies

import (
	"testing"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

func TestGoverned(t *testing.T) {
	const over, abort = policyv1alpha1.ConflictOverwrite, policyv1alpha1.ConflictAbort
	type says struct {
		conflict policyv1alpha1.ConflictResolution
		preserve *bool
	}
	for sentence, tc := range map[string]struct {
		was          propagation.Binding
		parents      []says
		want         says
		wantConflict string
		same         bool
	}{
		"one parent has its way":        {parents: []says{{over, new(true)}}, want: says{over, new(true)}},
		"nothing said is what there is": {parents: []says{{}, {abort, new(false)}}, same: true},
		"those who agree":               {parents: []says{{over, new(true)}, {over, new(true)}}, want: says{over, new(true)}},
		"a conflict of both": {
			parents: []says{{over, new(true)}, {abort, new(false)}}, want: says{over, new(true)},
			wantConflict: "Dependency policy conflict detected: ConflictResolution conflicted (Overwrite vs Abort); PreserveResourcesOnDeletion conflicted (true vs false).",
		},
		"a conflict of one": {
			parents: []says{{"", new(true)}, {}}, want: says{"", new(true)},
			wantConflict: "Dependency policy conflict detected: PreserveResourcesOnDeletion conflicted (true vs false).",
		},
		"a conflict that is over": {
			was: propagation.Binding{
				Annotations: map[string]string{propagation.AnnotationPolicyConflict: "x"},
				Spec:        workv1alpha2.ResourceBindingSpec{ConflictResolution: over},
			},
			parents: []says{{}, {}}, want: says{abort, nil},
		},
		"what the API server filled in is what nobody said": {
			was:     propagation.Binding{Spec: workv1alpha2.ResourceBindingSpec{ConflictResolution: abort, PreserveResourcesOnDeletion: new(false)}},
			parents: []says{{}}, want: says{abort, nil}, same: true,
		},
		"a policy of its own is in force": {
			was:     propagation.Binding{Annotations: map[string]string{propagation.AnnotationActivePolicy: "Namespaced/shop/own"}},
			parents: []says{{over, new(true)}}, same: true,
		},
		"nobody is left to say anything": {
			was:  propagation.Binding{Spec: workv1alpha2.ResourceBindingSpec{ConflictResolution: over}},
			want: says{over, nil}, same: true,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			var parents []*propagation.Binding
			for _, p := range tc.parents {
				b := &propagation.Binding{}
				b.Spec.ConflictResolution, b.Spec.PreserveResourcesOnDeletion = p.conflict, p.preserve
				parents = append(parents, b)
			}
			got := Governed(&tc.was, parents)
			keeps := func(p *bool) bool { return p != nil && *p }
			if got.Spec.ConflictResolution != tc.want.conflict || keeps(got.Spec.PreserveResourcesOnDeletion) != keeps(tc.want.preserve) {
				t.Errorf("it is %q, preserve %t", got.Spec.ConflictResolution, keeps(got.Spec.PreserveResourcesOnDeletion))
			}
			if c := Conflict(got); c != tc.wantConflict {
				t.Errorf("the conflict is %q, want %q", c, tc.wantConflict)
			}
			if same := got == &tc.was; same != tc.same {
				t.Errorf("unchanged: %t, want %t", same, tc.same)
			}
			if again := Governed(got, parents); again != got {
				t.Error("a second look changes it again")
			}
		})
	}
}
