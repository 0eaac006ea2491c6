// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeping_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/core/sweeping"
)

// entries are n entries of each lane, a1, a2, …
func entries(n map[string]int) []sweeping.Entry[string] {
	var out []sweeping.Entry[string]
	for lane, n := range n {
		for i := range n {
			id := fmt.Sprintf("%s%d", lane, i+1)
			out = append(out, sweeping.Entry[string]{Lane: lane, ID: id, Value: id})
		}
	}
	return out
}

func TestPick(t *testing.T) {
	for name, tc := range map[string]struct {
		lanes     map[string]int
		n         int
		before    sweeping.Round
		want      []string
		wantRound sweeping.Round
	}{
		"nothing of nothing":                      {n: 3},
		"all, where all fit":                      {map[string]int{"a": 2, "b": 1}, 3, nil, []string{"a1", "b1", "a2"}, nil},
		"lanes take turns":                        {map[string]int{"a": 5, "b": 1}, 3, nil, []string{"a1", "b1", "a2"}, sweeping.Round{"": "a", "a": "a2"}},
		"a round goes on where it ended":          {map[string]int{"a": 5, "b": 1}, 3, sweeping.Round{"": "a", "a": "a2"}, []string{"b1", "a3", "a4"}, sweeping.Round{"": "a", "a": "a4"}},
		"and begins anew at its end":              {map[string]int{"a": 5}, 3, sweeping.Round{"": "a", "a": "a4"}, []string{"a5", "a1", "a2"}, sweeping.Round{"": "a", "a": "a2"}},
		"though what came last is gone":           {map[string]int{"a": 5}, 2, sweeping.Round{"": "x", "a": "a31"}, []string{"a4", "a5"}, sweeping.Round{"": "a", "a": "a5"}},
		"more lanes than turns":                   {map[string]int{"a": 1, "b": 1, "c": 1}, 2, sweeping.Round{"": "b"}, []string{"c1", "a1"}, sweeping.Round{"": "a"}},
		"a lane without a turn stays where it is": {map[string]int{"a": 3, "b": 3}, 1, sweeping.Round{"": "b", "b": "b2"}, []string{"a1"}, sweeping.Round{"": "a", "a": "a1", "b": "b2"}},
		"none, if none may be picked":             {map[string]int{"a": 2}, 0, sweeping.Round{"a": "a1"}, nil, sweeping.Round{"a": "a1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, round := sweeping.Pick(entries(tc.lanes), tc.n, tc.before)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("picked (-want +got)\n%s", d)
			}
			if d := cmp.Diff(tc.wantRound, round); d != "" {
				t.Errorf("round (-want +got)\n%s", d)
			}
		})
	}
}

// Z27: whoever is found in each sweep has a turn within as many sweeps as it takes
// to announce all, and one of a lane with few within few.
func TestZ27NobodyStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lanes := rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), rapid.IntRange(1, 40), 1, 30).Draw(t, "lanes")
		n := rapid.IntRange(1, 60).Draw(t, "n")
		all := entries(lanes)
		var round sweeping.Round
		seen := map[string]bool{}
		most := 0
		for _, of := range lanes {
			most = max(most, of)
		}
		// Each lane has a turn in every len(lanes)/n sweeps at the latest.
		for range most*(len(lanes)/n+1) + 1 {
			var picked []string
			picked, round = sweeping.Pick(all, n, round)
			if len(picked) > n {
				t.Fatalf("%d were picked, %d may be", len(picked), n)
			}
			for _, id := range picked {
				seen[id] = true
			}
		}
		if len(seen) != len(all) {
			t.Fatalf("of %d entries %d had a turn", len(all), len(seen))
		}
	})
}

func TestStateOf(t *testing.T) {
	applied := func(status metav1.ConditionStatus, reason string, generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: workv1alpha1.ConditionApplied, Status: status, Reason: reason, ObservedGeneration: generation}}
	}
	for name, tc := range map[string]struct {
		age        time.Duration
		conditions []metav1.Condition
		want       sweeping.State
	}{
		"it was just made": {time.Second, nil, sweeping.Underway},
		"it was just made, by a clock a little ahead":          {-time.Second, nil, sweeping.Underway},
		"the hub's clock is an hour ahead":                     {-time.Hour, nil, sweeping.Overdue},
		"nothing was said of it for long":                      {time.Minute, nil, sweeping.Overdue},
		"its member has it":                                    {time.Minute, applied(metav1.ConditionTrue, reporting.ReasonApplied, 2), sweeping.Finished},
		"its member has what it said before":                   {time.Minute, applied(metav1.ConditionTrue, reporting.ReasonApplied, 1), sweeping.Overdue},
		"its member said no":                                   {time.Minute, applied(metav1.ConditionFalse, "RefusedByMember", 2), sweeping.Failing},
		"its member said no to what it said before":            {time.Minute, applied(metav1.ConditionFalse, "RefusedByMember", 1), sweeping.Overdue},
		"its member did not answer, and does now":              {time.Minute, applied(metav1.ConditionFalse, reporting.ReasonUnreachable, 2), sweeping.Overdue},
		"its member was not joined, and is now":                {time.Minute, applied(metav1.ConditionFalse, reporting.ReasonNotJoined, 2), sweeping.Overdue},
		"its member did not answer when it was made, just now": {time.Second, applied(metav1.ConditionFalse, reporting.ReasonUnreachable, 2), sweeping.Underway},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			w := &propagation.Work{Generation: 2, Created: now.Add(-tc.age)}
			w.Status.Conditions = tc.conditions
			if got := sweeping.StateOf(w, now); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

// What others want of a Work is looked at until they do not.
func TestC75Y9AWorkThatIsContestedIsLookedAt(t *testing.T) {
	w := &propagation.Work{Generation: 2}
	w.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionTrue, Reason: reporting.ReasonApplied, ObservedGeneration: 2}}
	contested := w.WithRivals([]propagation.Rival{{Name: "two-work", Form: propagation.PlacementForm}})
	if was, is := sweeping.StateOf(w, time.Unix(1000, 0)), sweeping.StateOf(contested, time.Unix(1000, 0)); was != sweeping.Finished || is != sweeping.Failing {
		t.Errorf("%d, and contested %d", was, is)
	}
}

// What a placement's Work has in its member and does not say any more is looked at until it
// has left, though all that it says is there.
func TestC15AWorkThatLeavesSomethingBehindIsNotFinished(t *testing.T) {
	manifest := func(name string) workv1alpha1.Manifest {
		return workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"` + name + `"}}`)}}
	}
	result := func(ordinal int, name string) placementv1.ManifestCondition {
		return placementv1.ManifestCondition{Identifier: placementv1.WorkResourceIdentifier{Ordinal: ordinal, Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}, Applied: &placementv1.AppliedState{UID: "u"}}
	}
	suspended := true
	for name, tc := range map[string]struct {
		results   []placementv1.ManifestCondition
		suspended *bool
		want      sweeping.State
	}{
		"it has what it says":                 {results: []placementv1.ManifestCondition{result(0, "a"), result(1, "b")}, want: sweeping.Finished},
		"it has one more":                     {results: []placementv1.ManifestCondition{result(0, "a"), result(1, "b"), result(1, "former")}, want: sweeping.Failing},
		"there is no room to tell of all":     {results: []placementv1.ManifestCondition{result(1, "b")}, want: sweeping.Finished},
		"there is not, and it has one more":   {results: []placementv1.ManifestCondition{result(1, "b"), result(1, "former")}, want: sweeping.Failing},
		"it has one more, and stays as it is": {results: []placementv1.ManifestCondition{result(0, "a"), result(1, "b"), result(1, "former")}, suspended: &suspended, want: sweeping.Finished},
		"one more was never applied":          {results: []placementv1.ManifestCondition{result(0, "a"), result(1, "b"), {Identifier: result(2, "c").Identifier}}, want: sweeping.Finished},
	} {
		t.Run(name, func(t *testing.T) {
			w := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: "shop-work", Form: propagation.PlacementForm}, Generation: 2}
			w.Spec.Workload.Manifests, w.Spec.SuspendDispatching, w.Results = []workv1alpha1.Manifest{manifest("a"), manifest("b")}, tc.suspended, tc.results
			status := metav1.ConditionTrue
			if tc.suspended != nil {
				status = metav1.ConditionUnknown
			}
			w.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionApplied, Status: status, Reason: "x", ObservedGeneration: 2}}
			if got := sweeping.StateOf(w, time.Unix(1000, 0)); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

func TestZ22Revisit(t *testing.T) {
	found := entries(map[string]int{"a": 3, "b": 2, "c": 1})
	for sentence, tc := range map[string]struct {
		n        int
		due      sweeping.Round
		want     []string
		wantLeft sweeping.Round
	}{
		"nothing is due":                              {n: 9},
		"a lane that is due is chosen whole":          {n: 9, due: sweeping.Round{"b": ""}, want: []string{"b1", "b2"}},
		"a lane that has nothing any more is not due": {n: 9, due: sweeping.Round{"x": ""}},
		"what does not fit stays due":                 {n: 2, due: sweeping.Round{"a": "", "c": ""}, want: []string{"a1", "c1"}, wantLeft: sweeping.Round{"a": "a1", "": "c"}},
		"it goes on behind the last":                  {n: 2, due: sweeping.Round{"a": "a1", "": "c"}, want: []string{"a2", "a3"}},
		"a lane that ends where the sweep does":       {n: 3, due: sweeping.Round{"a": "", "b": "b1"}, want: []string{"a1", "b2", "a2"}, wantLeft: sweeping.Round{"a": "a2", "": "a"}},
		"lanes that had no turn come first":           {n: 1, due: sweeping.Round{"a": "", "b": "", "c": "", "": "a"}, want: []string{"b1"}, wantLeft: sweeping.Round{"a": "", "b": "b1", "c": "", "": "b"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, left := sweeping.Revisit(found, tc.n, tc.due)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("chosen (-want +got)\n%s", d)
			}
			if d := cmp.Diff(tc.wantLeft, left); d != "" {
				t.Errorf("due (-want +got)\n%s", d)
			}
		})
	}
}

// Of members that become due again with each sweep, before they are through, each entry
// of the others has its turn within as many sweeps as there are entries.
func TestZ22AMemberThatIsLostWithEachSweepHoldsUpNoOther(t *testing.T) {
	for sentence, tc := range map[string]struct {
		lanes map[string]int
		lost  []string
		n     int
	}{
		"a member lost at each tick does not hold back the others": {lanes: map[string]int{"a": 1000, "b": 40, "z": 3}, lost: []string{"a"}, n: 10},
		"nor do several": {lanes: map[string]int{"a": 100, "b": 100, "c": 100, "z": 20}, lost: []string{"a", "b", "c"}, n: 4},
		"nor more than there are turns in one sweep": {lanes: map[string]int{"a": 9, "b": 9, "c": 9, "d": 9, "z": 9}, lost: []string{"a", "b", "c", "d"}, n: 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			found, due, want := entries(tc.lanes), sweeping.Round{}, 0
			for lane, n := range tc.lanes {
				due[lane] = ""
				if !slices.Contains(tc.lost, lane) {
					want += n
				}
			}
			seen, sweeps := map[string]bool{}, 0
			for ; len(seen) < want; sweeps++ {
				if sweeps > len(found) {
					t.Fatalf("after %d sweeps %d of %d had a turn", sweeps, len(seen), want)
				}
				var picked []string
				picked, due = sweeping.Revisit(found, tc.n, due)
				for _, id := range picked {
					if !slices.ContainsFunc(tc.lost, func(lane string) bool { return strings.HasPrefix(id, lane) }) {
						seen[id] = true
					}
				}
				if due == nil {
					due = sweeping.Round{}
				}
				for _, lane := range tc.lost {
					due[lane] = ""
				}
			}
		})
	}
}

// So is a Work whose fields somebody changes back each time: it says so until nobody does.
func TestAWorkThatIsFoughtOverIsLookedAt(t *testing.T) {
	w := &propagation.Work{Generation: 2}
	w.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionTrue, Reason: reporting.ReasonApplied, ObservedGeneration: 2}}
	was := sweeping.StateOf(w, time.Unix(1000, 0))
	w.Status.Conditions = applying.WithFieldsContested(w.Status.Conditions, []string{"somebody"}, false, time.Unix(1000, 0))
	if is := sweeping.StateOf(w, time.Unix(1000, 0)); was != sweeping.Finished || is != sweeping.Failing {
		t.Errorf("%d, and fought over %d", was, is)
	}
}
