// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	placementv1 "sluice.dev/apis/placement/v1"
)

// says are the conditions of the placement, by type.
func (w *world) says() []string {
	var all []string
	for _, c := range w.placements["crp"].Status.Conditions {
		all = append(all, c.Type+" "+c.Reason)
	}
	return all
}

// A kind that Sluice may not read is told on the placement, until somebody grants it, and
// what it had of that stays.
func TestZ28APlacementOfAKindThatIsNotGranted(t *testing.T) {
	const notGranted = "KindsGranted KindNotGranted"
	for name, tc := range map[string]struct {
		selects []placementv1.ClusterResourceSelector
		kind    string
		says    string
	}{
		"by name":       {[]placementv1.ClusterResourceSelector{named("ClusterRole", "r")}, "ClusterRole", "placer may not get clusterroles.rbac.authorization.k8s.io in all namespaces: kubectl sluice grant clusterroles.rbac.authorization.k8s.io"},
		"all of a kind": {[]placementv1.ClusterResourceSelector{named("ClusterRole", "")}, "ClusterRole", "placer may not list clusterroles.rbac.authorization.k8s.io in all namespaces: kubectl sluice grant clusterroles.rbac.authorization.k8s.io"},
	} {
		t.Run("Z28: "+name, func(t *testing.T) {
			w := shop(t)
			w.objects[keyOf(object("ClusterRole", "", "r", "")).ID()] = object("ClusterRole", "", "r", "")
			w.place(tc.selects...)
			w.denied = map[string]bool{tc.kind: true}
			w.now = w.now.Add(time.Hour)
			w.touch(t)
			if got := w.says(); !slices.Equal(got, []string{notGranted}) {
				t.Fatalf("it says %v", got)
			}
			if c := w.placements["crp"].Status.Conditions[0]; !strings.Contains(c.Message, tc.says) {
				t.Errorf("it says %q", c.Message)
			}
			w.writes = nil
			w.touch(t)
			if w.tick(t, 30*time.Second) {
				t.Error("what may not be read is tried again at once")
			}
			if !w.tick(t, time.Minute) || len(w.writes) > 0 {
				t.Errorf("after a minute it is not tried again, or it is written: %v", w.writes)
			}
			w.denied = nil
			if !w.tick(t, 2*time.Minute) || len(w.says()) > 0 {
				t.Errorf("when it is granted it says %v", w.says())
			}
			w.writes = nil
			if w.tick(t, time.Hour) || len(w.writes) > 0 {
				t.Errorf("what is granted is tried again, or it is written: %v", w.writes)
			}
		})
	}
}

// Of the kinds that a namespace never had, nobody is told that they are not granted.
func TestC77Z28OfAKindThatANamespaceNeverHadNothingIsTold(t *testing.T) {
	w := shop(t)
	w.denied = map[string]bool{"Widget": true}
	w.now = w.now.Add(time.Hour)
	w.touch(t)
	if got := w.says(); len(got) > 0 {
		t.Errorf("it says %v", got)
	}
}

// A right that is taken away is told with what changed after that.
func TestZ28ARightThatIsTakenAway(t *testing.T) {
	w := shop(t)
	w.denied = map[string]bool{"ConfigMap": true}
	w.put(t, object("ConfigMap", "shop", "a", "2"))
	w.tick(t, time.Minute)
	w.tick(t, time.Minute)
	if got := w.says(); !slices.Equal(got, []string{"KindsGranted KindNotGranted"}) {
		t.Errorf("it says %v", got)
	}
	w.want(t, first)
}
