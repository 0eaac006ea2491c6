// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer_test

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leaving is a shop whose placement is being deleted, while these kinds are not served.
func leaving(t *testing.T, unserved ...string) *world {
	w := shop(t)
	now := metav1.NewTime(w.now)
	w.placements["crp"].DeletionTimestamp = &now
	for _, kind := range unserved {
		w.dark[kind] = true
	}
	return w
}

// Where all definitions are deleted, those of what Sluice makes of placements may be gone
// first. No placement, and with it its definition, waits for them.
func TestZ11APlacementThatGoesWithItsKindWaitsForNoOther(t *testing.T) {
	kinds := []string{"ClusterResourceBinding", "ClusterResourceSnapshot", "ClusterSchedulingPolicySnapshot"}
	for set := range 1 << len(kinds) {
		var unserved []string
		for i, kind := range kinds {
			if set&(1<<i) != 0 {
				unserved = append(unserved, kind)
			}
		}
		w := leaving(t, unserved...)
		w.retired = true
		if _, err := w.handle(touched(t)); err != nil {
			t.Errorf("not served %v: %v", unserved, err)
		}
		if p := w.placements["crp"]; p != nil {
			t.Errorf("not served %v: held by %v", unserved, p.Finalizers)
		}
		if !w.dark[kinds[1]] && len(w.resources) > 0 || !w.dark[kinds[2]] && len(w.policies) > 0 {
			t.Errorf("not served %v: %v and %v are left", unserved, w.resources, w.policies)
		}
	}
}

// A placement that somebody deleted waits for what cannot be read: it may have brought
// objects that have to leave.
func TestC29ADeletedPlacementWaitsForWhatIsNotServed(t *testing.T) {
	for name, tc := range map[string]struct {
		unserved    string
		undefinable error
	}{
		"bindings":                      {unserved: "ClusterResourceBinding"},
		"snapshots":                     {unserved: "ClusterResourceSnapshot"},
		"policies":                      {unserved: "ClusterSchedulingPolicySnapshot"},
		"its definition cannot be read": {unserved: "ClusterResourceBinding", undefinable: errors.New("no answer")},
	} {
		t.Run(name, func(t *testing.T) {
			w := leaving(t, tc.unserved)
			w.retired, w.undefinable = tc.undefinable != nil, tc.undefinable
			if _, err := w.handle(touched(t)); err == nil {
				t.Error("it does not say what it waits for")
			}
			if w.placements["crp"] == nil {
				t.Error("it is gone")
			}
		})
	}
}
