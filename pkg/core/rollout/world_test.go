// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	placementv1 "sluice.dev/apis/placement/v1"
)

// world carries plans out as a hub does, and says in the bindings' statuses what
// members would.
type world struct {
	placement *placementv1.ClusterResourcePlacement
	picked    []string
	snapshot  string
	policy    string
	hash      string
	overrides map[string]Overrides
	made      map[types.NamespacedName]time.Time
	undefined map[string]string
	bindings  map[string]*placementv1.ClusterResourceBinding
	now       time.Time
	uid       int
	// works tells whether a snapshot becomes available in a member.
	works func(cluster, snapshot string) bool
}

func newWorld(unavailable, surge string, picked ...string) *world {
	w := &world{
		placement: &placementv1.ClusterResourcePlacement{}, picked: picked, snapshot: "shop-0-snapshot", policy: "shop-0",
		bindings: map[string]*placementv1.ClusterResourceBinding{}, now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC),
		works: func(string, string) bool { return true },
	}
	w.placement.Name, w.placement.UID = "shop", "uid"
	u, s, period := intstr.Parse(unavailable), intstr.Parse(surge), 5
	w.placement.Spec.Strategy.RollingUpdate = &placementv1.RollingUpdateConfig{MaxUnavailable: &u, MaxSurge: &s, UnavailablePeriodSeconds: &period}
	return w
}

func members(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("member%02d", i+1))
	}
	return names
}

func (w *world) next() Plan {
	in := Input{Placement: w.placement, Policy: w.policy, PolicyHash: w.hash, Snapshot: w.snapshot, Overrides: w.overrides, Made: w.made, Undefined: w.undefined, Now: w.now}
	for _, c := range w.picked {
		in.Picked = append(in.Picked, placementv1.ClusterDecision{ClusterName: c, Selected: true})
	}
	for _, b := range w.bindings {
		in.Bindings = append(in.Bindings, b)
	}
	return Next(in)
}

// carryOut makes the plan's writes.
func (w *world) carryOut(p Plan) {
	for _, s := range p.Steps {
		switch {
		case s.Next == nil:
			at := metav1.NewTime(w.now)
			w.bindings[s.Old.Name].DeletionTimestamp = &at
		case s.Old == nil:
			b := s.Next.DeepCopy()
			w.uid++
			b.Generation, b.UID = 1, types.UID(fmt.Sprint(w.uid))
			w.bindings[b.Name] = b
		default:
			b := s.Next.DeepCopy()
			if !equality.Semantic.DeepEqual(b.Spec, s.Old.Spec) {
				b.Generation++
			}
			w.bindings[b.Name] = b
		}
	}
}

// roll plans, carries out, and plans again until nothing is to be done.
func (w *world) roll() Plan {
	for range 100 {
		p := w.next()
		if len(p.Steps) == 0 {
			return p
		}
		w.carryOut(p)
	}
	panic("the plans have no end")
}

func (w *world) of(cluster string) *placementv1.ClusterResourceBinding {
	for _, b := range w.bindings {
		if b.Spec.TargetCluster == cluster && b.DeletionTimestamp == nil {
			return b
		}
	}
	return nil
}

// report says of a member what came of what it has; the reason is that of
// Available.
func (w *world) report(cluster, reason string) {
	b := w.of(cluster)
	c := metav1.Condition{Type: placementv1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: b.Generation, LastTransitionTime: metav1.NewTime(w.now)}
	if reason == placementv1.ReasonWorkNotApplied {
		c.Type, c.Status = placementv1.ConditionApplied, metav1.ConditionFalse
		meta.RemoveStatusCondition(&b.Status.Conditions, placementv1.ConditionAvailable)
	} else {
		meta.RemoveStatusCondition(&b.Status.Conditions, placementv1.ConditionApplied)
	}
	meta.SetStatusCondition(&b.Status.Conditions, c)
}

// observe is report, by what works where.
func (w *world) observe(cluster string) {
	if b := w.of(cluster); b.Spec.State == placementv1.BindingStateBound && w.works(cluster, b.Spec.ResourceSnapshotName) {
		w.report(cluster, placementv1.ReasonAllWorkAvailable)
	} else if b.Spec.State == placementv1.BindingStateBound {
		w.report(cluster, placementv1.ReasonWorkNotApplied)
	}
}

// finish lets go what is on its way out.
func (w *world) finish() {
	for name, b := range w.bindings {
		if b.DeletionTimestamp != nil {
			delete(w.bindings, name)
		}
	}
}

// settle is a world in which all that are picked have the snapshot.
func (w *world) settle() *world {
	for range 200 {
		p := w.roll()
		w.finish()
		for c := range w.has("") {
			w.observe(c)
		}
		if len(w.next().Steps) == 0 && len(p.Waits) == 0 {
			return w
		}
	}
	panic("it does not settle")
}

// has are the members that are bound, to that snapshot or to any.
func (w *world) has(snapshot string) map[string]bool {
	out := map[string]bool{}
	for _, b := range w.bindings {
		if b.DeletionTimestamp == nil && Given(b) && (snapshot == "" || b.Spec.ResourceSnapshotName == snapshot) {
			out[b.Spec.TargetCluster] = true
		}
	}
	return out
}

func names(set map[string]bool) string {
	var all []string
	for n := range set {
		all = append(all, n)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
