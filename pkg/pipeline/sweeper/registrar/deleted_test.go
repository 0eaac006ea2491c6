// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package registrar

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/mirroring"
)

// Somebody deletes a MemberCluster. Whether that was asked for this Cluster, or a former
// one of its name, is not a matter of seconds, which is all that objects know of time.
func TestC48ADeletedMemberClusterIsThatOfItsCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		of    types.UID     // the Cluster that it was made for
		after time.Duration // the present one was made, it was deleted
		left  bool
	}{
		"in the second in which its Cluster was made": {of: "2", left: true},
		"later":                                {of: "2", after: time.Second, left: true},
		"that of a former one, in that second": {of: "1"},
		"that of a former one, before":         {of: "1", after: -time.Second},
		"that of a former one, when the present one was there": {of: "1", after: time.Second, left: true},
		"it does not say whose it is, as an older one":         {after: time.Second, left: true},
		"it does not say whose it is, nor does the second":     {},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fleet{cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1", UID: tc.of}}}
			now := began
			s := mirroringStage(f, &now)
			step := stepper(t, f, s)
			step("namespace fleet-member-member1", "member")
			step()
			f.cluster.UID, f.cluster.CreationTimestamp = "2", metav1.NewTime(began)
			f.member.DeletionTimestamp = &metav1.Time{Time: began.Add(tc.after)}
			if _, _, err := s.member(t.Context(), f.cluster); err != nil {
				t.Fatal(err)
			}
			if _, left := mirroring.Left(f.cluster); left != tc.left || f.member != nil {
				t.Errorf("it leaves the placements: %t, want %t; written %v", left, tc.left, f.take())
			}
		})
	}
}
