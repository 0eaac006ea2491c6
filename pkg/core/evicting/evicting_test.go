// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package evicting

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	placementv1 "sluice.dev/apis/placement/v1"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// world is a placement with three members that it has picked and that have it.
type world struct{ Input }

func newWorld(kind placementv1.PlacementType) *world {
	w := &world{Input{
		Placement: &placementv1.ClusterResourcePlacement{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		Policy:    &placementv1.ClusterSchedulingPolicySnapshot{},
		Now:       now,
	}}
	w.Placement.Spec.Policy = &placementv1.PlacementPolicy{PlacementType: kind}
	if kind == placementv1.PickNPlacementType {
		w.Placement.Spec.Policy.NumberOfClusters = ptr.To(int32(3))
	}
	for _, m := range []string{"m1", "m2", "m3"} {
		w.Policy.Status.ClusterDecisions = append(w.Policy.Status.ClusterDecisions, placementv1.ClusterDecision{ClusterName: m, Selected: true})
		b := &placementv1.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "shop-" + m}}
		b.Spec.TargetCluster, b.Spec.State = m, placementv1.BindingStateBound
		b.Status.Conditions = []metav1.Condition{{Type: placementv1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: "AllWorkAreAvailable"}}
		w.Bindings = append(w.Bindings, b)
	}
	return w
}

func (w *world) evict(names ...string) *world {
	for i, cluster := range names {
		w.Evictions = append(w.Evictions, &placementv1.ClusterResourcePlacementEviction{
			ObjectMeta: metav1.ObjectMeta{Name: "e" + string(rune('0'+i)), Generation: 1},
			Spec:       placementv1.PlacementEvictionSpec{PlacementName: "shop", ClusterName: cluster},
		})
	}
	return w
}

func (w *world) binding(cluster string) *placementv1.ClusterResourceBinding {
	for _, b := range w.Bindings {
		if b.Spec.TargetCluster == cluster {
			return b
		}
	}
	return nil
}

func (w *world) unpick(cluster string) {
	for i := range w.Policy.Status.ClusterDecisions {
		if d := &w.Policy.Status.ClusterDecisions[i]; d.ClusterName == cluster {
			d.Selected = false
		}
	}
}

func (w *world) says(cluster string, status metav1.ConditionStatus) {
	meta.SetStatusCondition(&w.binding(cluster).Status.Conditions, metav1.Condition{Type: placementv1.ConditionAvailable, Status: status, Reason: "Said"})
}

func budget(maxUnavailable, minAvailable string) *placementv1.ClusterResourcePlacementDisruptionBudget {
	b := &placementv1.ClusterResourcePlacementDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if maxUnavailable != "" {
		b.Spec.MaxUnavailable = ptr.To(intstr.Parse(maxUnavailable))
	}
	if minAvailable != "" {
		b.Spec.MinAvailable = ptr.To(intstr.Parse(minAvailable))
	}
	return b
}

func TestWhatBecomesOfAnEviction(t *testing.T) {
	const all, some, fixed = placementv1.PickAllPlacementType, placementv1.PickNPlacementType, placementv1.PickFixedPlacementType
	for sentence, tc := range map[string]struct {
		kind   placementv1.PlacementType
		when   func(w *world)
		evict  string // default: m1
		want   string // of each: invalid, yes, done or no
		reason string
	}{
		"a member that is picked is given up":              {want: "yes", reason: "no ClusterResourcePlacementDisruptionBudget"},
		"one of PickN, too":                                {kind: some, want: "yes"},
		"one of PickFixed is not":                          {kind: fixed, want: "invalid", reason: "clusterNames"},
		"there is no placement":                            {when: func(w *world) { w.Placement = nil }, want: "invalid", reason: "there is no"},
		"the placement is being deleted":                   {when: func(w *world) { w.Placement.DeletionTimestamp = &metav1.Time{Time: now} }, want: "invalid", reason: "being deleted"},
		"the placement has no policy yet":                  {when: func(w *world) { w.Policy, w.Bindings = nil, nil }, want: "invalid", reason: "has not picked"},
		"the member is not picked":                         {evict: "m9", want: "invalid", reason: "has not picked"},
		"the member is losing it already":                  {when: func(w *world) { w.unpick("m1") }, want: "done", reason: "already"},
		"and its binding is on its way out":                {when: func(w *world) { w.unpick("m1"); w.binding("m1").DeletionTimestamp = &metav1.Time{Time: now} }, want: "done"},
		"the member has nothing yet":                       {when: func(w *world) { w.binding("m1").Spec.State = placementv1.BindingStateScheduled }, want: "no", reason: "nothing of the placement yet"},
		"the member has no binding yet":                    {when: func(w *world) { w.Bindings = w.Bindings[1:] }, want: "no", reason: "nothing of the placement yet"},
		"a member is asked for twice":                      {evict: "m1 m1", want: "yes done"},
		"two are asked for":                                {evict: "m1 m2", want: "yes yes"},
		"two must be left":                                 {when: func(w *world) { w.Budget = budget("", "2") }, want: "yes", reason: "allows it"},
		"two must be left of those evicted at a time":      {when: func(w *world) { w.Budget = budget("", "2") }, evict: "m1 m2", want: "yes no", reason: "in 2 clusters, and without this one it would be in 1"},
		"three must be left":                               {when: func(w *world) { w.Budget = budget("", "3") }, want: "no", reason: "in 3 clusters"},
		"none must be left":                                {when: func(w *world) { w.Budget = budget("", "0") }, evict: "m1 m2 m3", want: "yes yes yes"},
		"what failed has nothing to protect":               {when: func(w *world) { w.Budget = budget("", "3"); w.says("m1", metav1.ConditionFalse) }, want: "yes", reason: "failed"},
		"what is not known is not available":               {when: func(w *world) { w.Budget = budget("", "2"); w.says("m2", metav1.ConditionUnknown) }, want: "no"},
		"nor is it what is lost already":                   {when: func(w *world) { w.Budget = budget("", "2"); w.unpick("m2") }, want: "no"},
		"one may be missing of PickN":                      {kind: some, when: func(w *world) { w.Budget = budget("1", "") }, evict: "m1 m2", want: "yes no"},
		"a third, rounded up, may be missing of PickN":     {kind: some, when: func(w *world) { w.Budget = budget("34%", "") }, evict: "m1 m2 m3", want: "yes yes no"},
		"half, rounded up, must be left of PickN":          {kind: some, when: func(w *world) { w.Budget = budget("", "50%") }, evict: "m1 m2", want: "yes no"},
		"PickAll wants no number that one may be short of": {when: func(w *world) { w.Budget = budget("1", "") }, want: "no", reason: "give it minAvailable"},
		"nor a share of it":                                {when: func(w *world) { w.Budget = budget("", "10%") }, want: "no", reason: "give it minAvailable"},
		"a budget of nothing limits nothing":               {when: func(w *world) { w.Budget = budget("", "") }, want: "yes"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if tc.kind == "" {
				tc.kind = all
			}
			if tc.evict == "" {
				tc.evict = "m1"
			}
			w := newWorld(tc.kind).evict(strings.Fields(tc.evict)...)
			if tc.when != nil {
				tc.when(w)
			}
			verdicts := Decide(w.Input)
			var got []string
			for _, v := range verdicts {
				got = append(got, told(t, v))
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("got %q, want %q: %+v", got, tc.want, verdicts)
			}
			if last := verdicts[len(verdicts)-1]; !strings.Contains(last.Why, tc.reason) || last.Why == "" {
				t.Errorf("it says %q, want %q", last.Why, tc.reason)
			}
		})
	}
}

// told is a verdict in a word, which its status has to say, too.
func told(t *testing.T, v Verdict) string {
	t.Helper()
	word := "no"
	switch {
	case !v.Valid:
		word = "invalid"
	case v.gives:
		word = "yes"
	case v.Executed:
		word = "done"
	}
	e := v.Eviction.DeepCopy()
	e.Status = v.Status(false, now)
	valid := meta.IsStatusConditionTrue(e.Status.Conditions, placementv1.ConditionEvictionValid)
	executed := meta.FindStatusCondition(e.Status.Conditions, placementv1.ConditionEvictionExecuted)
	if valid != v.Valid || (executed != nil) != v.Valid || executed != nil && (executed.Status == metav1.ConditionTrue) != v.Executed {
		t.Errorf("%s: its status is %+v", word, e.Status)
	}
	if !Over(e) || len(Of("shop", []*placementv1.ClusterResourcePlacementEviction{e})) != 0 {
		t.Errorf("%s: it is decided once more", word)
	}
	if Evicted([]Verdict{v})[e.Spec.ClusterName] != (word == "yes") {
		t.Errorf("%s: evicted %v", word, Evicted([]Verdict{v}))
	}
	return word
}

func TestEvictionsAreDecidedInTheirOrder(t *testing.T) {
	at := func(name, placement string, second int) *placementv1.ClusterResourcePlacementEviction {
		e := &placementv1.ClusterResourcePlacementEviction{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(time.Duration(second) * time.Second))}}
		e.Spec.PlacementName = placement
		return e
	}
	leaving := at("gone", "shop", 0)
	leaving.DeletionTimestamp = &metav1.Time{Time: now}
	var got []string
	for _, e := range Of("shop", []*placementv1.ClusterResourcePlacementEviction{at("c", "shop", 2), at("b", "shop", 1), at("a", "shop", 2), at("x", "other", 0), leaving}) {
		got = append(got, e.Name)
	}
	if strings.Join(got, " ") != "b a c" {
		t.Errorf("got %v", got)
	}
}
