// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package placer_test

import (
	"strings"
	"testing"
	"time"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
)

// What somebody makes, edits or deletes among the snapshots is put right, and told.
func TestZ6SnapshotsMadeByHandAreDeleted(t *testing.T) {
	type snapshot = placementv1.ClusterResourceSnapshot
	again := "crp-1-snapshot latest, Namespace shop, Secret shop/s 1, ConfigMap shop/a 1"
	for name, tc := range map[string]struct {
		change func(w *world, s *snapshot)
		tells  string
		want   []string
	}{
		"an empty one of a higher index": {change: func(w *world, s *snapshot) {
			s.Name, s.Labels[placementv1.LabelResourceIndex] = "crp-9-snapshot", "9"
			s.Spec.SelectedResources = nil
			w.resources[s.Name] = s
		}, tells: "snapshot crp-9-snapshot is not what Sluice made: its seal", want: []string{first}},
		"a part without an index": {change: func(w *world, s *snapshot) {
			s.Name = "mine"
			delete(s.Labels, placementv1.LabelResourceIndex)
			w.resources[s.Name] = s
		}, tells: "snapshot mine is not", want: []string{first}},
		"one whose content was edited": {change: func(w *world, s *snapshot) {
			s.Spec.SelectedResources, s.Generation = nil, 2
			w.resources[s.Name] = s
		}, tells: "its content was edited", want: []string{again}},
		"one made anew with other content": {change: func(w *world, s *snapshot) {
			s.Spec.SelectedResources, s.UID = nil, "another"
			w.resources[s.Name] = s
		}, tells: "holds something else", want: []string{again}},
		"the newest, deleted": {change: func(w *world, s *snapshot) { delete(w.resources, s.Name) }, want: []string{again}},
	} {
		t.Run(name, func(t *testing.T) {
			w := shop(t)
			w.placements["crp"].Status.ObservedResourceIndex = "0"
			w.now = w.now.Add(time.Hour)
			tc.change(w, w.resources["crp-0-snapshot"].DeepCopy())
			w.touch(t)
			w.want(t, tc.want...)
			told := strings.Join(w.told, "\n")
			if (told == "") != (tc.tells == "") || !strings.Contains(told, tc.tells) || tc.tells != "" && !strings.Contains(told, placing.ReasonNotGenuine) {
				t.Errorf("it tells %q, want %q", told, tc.tells)
			}
			w.writes = nil
			if w.touch(t); len(w.writes) > 0 {
				t.Errorf("it is not at rest: %v", w.writes)
			}
		})
	}
}

// Where what is selected is refused, a newest snapshot that is deleted is not made anew,
// and the one before it does not act.
func TestZ6TheNewestDeletedWhileSelectorsAreRefused(t *testing.T) {
	w := shop(t)
	w.put(t, object("ConfigMap", "shop", "a", "2"))
	w.now = w.now.Add(time.Hour)
	w.touch(t)
	w.placements["crp"].Status.ObservedResourceIndex = "1"
	w.placements["crp"].Spec.ResourceSelectors = []placementv1.ClusterResourceSelector{named("Namespace", "shpo")}
	w.touch(t)
	if !placing.Refused(w.placements["crp"]) {
		t.Fatal("it is not refused")
	}
	delete(w.resources, "crp-1-snapshot")
	if got := w.touch(t); len(got) > 0 {
		t.Errorf("it emits %v", got)
	}
	w.want(t, strings.Replace(first, " latest", "", 1))
}

func TestZ6PolicySnapshotsMadeByHandAreDeleted(t *testing.T) {
	w := shop(t)
	forged := w.policies["crp-0"].DeepCopy()
	forged.Name, forged.Labels[placementv1.LabelPolicyIndex] = "crp-5", "5"
	w.policies[forged.Name] = forged
	w.touch(t)
	if len(w.policies) != 1 || w.policies["crp-0"] == nil || len(w.told) != 1 || !strings.Contains(w.told[0], "SnapshotNotGenuine: snapshot crp-5") {
		t.Errorf("policies %v, told %v", w.policies, w.told)
	}
}
