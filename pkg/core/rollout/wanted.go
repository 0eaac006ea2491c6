// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
)

// Picked returns the name of the policy snapshot in force, and the members that it picked;
// known is false as long as nothing is decided.
func Picked(p *placementv1.ClusterResourcePlacement, policies []*placementv1.ClusterSchedulingPolicySnapshot) (policy string, picked []placementv1.ClusterDecision, known bool) {
	latest := placing.LatestPolicy(p, policies)
	if latest == nil || meta.FindStatusCondition(latest.Status.Conditions, placementv1.ConditionScheduled) == nil {
		return "", nil, false
	}
	picked = slices.DeleteFunc(slices.Clone(latest.Status.ClusterDecisions), func(d placementv1.ClusterDecision) bool { return !d.Selected })
	return latest.Name, picked, true
}

// Wanted returns the name of the first part, and the index, of the snapshot that the
// members have to have: the newest complete one, or the one that the placement is rolled
// back to. They are empty if there is no such snapshot.
func Wanted(p *placementv1.ClusterResourcePlacement, snapshots []*placementv1.ClusterResourceSnapshot) (name, index string) {
	whole := placing.Wanted(p, snapshots)
	if len(whole) == 0 {
		return "", ""
	}
	return whole[0].Name, strconv.Itoa(whole[0].Index)
}

// At returns the name of the first part of the placement's complete snapshot with the
// index; empty if there is none.
func At(p *placementv1.ClusterResourcePlacement, snapshots []*placementv1.ClusterResourceSnapshot, index string) string {
	parts := slices.DeleteFunc(placing.PartsOf(p, snapshots), func(part placing.Part) bool { return strconv.Itoa(part.Index) != index })
	whole := placing.Newest(parts)
	if len(whole) == 0 {
		return ""
	}
	return whole[0].Name
}

// Unobserved reports whether the binding has to be looked at: it is being deleted, or its
// status does not yet tell of what it gives its member.
func Unobserved(b *placementv1.ClusterResourceBinding) bool {
	return b.DeletionTimestamp != nil || Given(b) && !Observed(b)
}

// unheard is how long nobody may look at what a member got, until it is told again.
const unheard = 10 * time.Second

// Open are the placements, by name, that an event may be missing for: those that are
// being deleted, those of which a member got something that nobody looked at, those of
// which a member that was picked has no binding, and those of which a member waits that
// need not wait, be it because time alone made others available. Those that are gone are
// among them while there are bindings of them. A binding that has been on its way out for
// long waits for its Works, and those maybe for a person: it is looked at seldom. Last is
// when it was asked before; zero: nobody knows.
func Open(placements []*placementv1.ClusterResourcePlacement, bindings []*placementv1.ClusterResourceBinding, last, now time.Time) []string {
	all := make(map[string]*open, len(placements))
	for _, p := range placements {
		all[p.Name] = &open{placement: p, last: last, now: now, due: p.DeletionTimestamp != nil, without: told(p)}
	}
	var names []string
	for _, b := range bindings {
		of := b.Labels[placementv1.LabelParentCRP]
		if o := all[of]; o != nil {
			o.look(b)
		} else if of != "" && Seldom(b.Name, since(b), last, now) {
			names = append(names, of)
		}
	}
	for name, o := range all {
		if o.due || len(o.without) > 0 || o.free() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// since is when a binding of which nobody knows the placement came to be so, at the latest.
func since(b *placementv1.ClusterResourceBinding) time.Time {
	if b.DeletionTimestamp != nil {
		return b.DeletionTimestamp.Time
	}
	return b.CreationTimestamp.Time
}

// open is what is found out of one placement.
type open struct {
	placement *placementv1.ClusterResourcePlacement
	last, now time.Time
	// due says that it has to be looked at.
	due bool
	// mixed says that members that have it do not all have the same; snapshot is what
	// the first has.
	mixed    bool
	snapshot string
	// waiting are the members that do not have it yet, picked those and all that have
	// it and keep it; taken and available are as the planner counts them.
	waiting, picked, taken, available int
	// without are the members that were picked, as far as the placement tells, and of
	// which no binding was seen.
	without map[string]bool
}

// free tells whether somebody waits who need not.
func (o *open) free() bool {
	strategy := o.placement.Spec.Strategy
	if strategy.External() {
		return false
	}
	maxUnavailable, maxSurge, _ := strategy.Pace()
	return o.waiting > 0 && o.taken < o.picked+share(maxSurge, o.picked) ||
		o.mixed && o.available > o.picked-share(maxUnavailable, o.picked)
}

// told are the members that the placement's status says are picked.
func told(p *placementv1.ClusterResourcePlacement) map[string]bool {
	picked := map[string]bool{}
	for _, s := range p.Status.PlacementStatuses {
		if s.ClusterName != "" && meta.IsStatusConditionTrue(s.Conditions, placementv1.ConditionScheduled) {
			picked[s.ClusterName] = true
		}
	}
	return picked
}

func (o *open) look(b *placementv1.ClusterResourceBinding) {
	delete(o.without, b.Spec.TargetCluster)
	if b.DeletionTimestamp != nil {
		o.due = o.due || Seldom(b.Name, b.DeletionTimestamp.Time, o.last, o.now)
		if Given(b) {
			o.taken++
		}
		return
	}
	o.due = o.due || Unobserved(b) && o.now.Sub(BoundAt(b)) > unheard
	leaves := b.Spec.State == placementv1.BindingStateUnscheduled
	if !leaves {
		o.picked++
	}
	if !Given(b) {
		o.waiting++
		return
	}
	o.mixed = o.mixed || leaves || o.snapshot != "" && o.snapshot != b.Spec.ResourceSnapshotName
	o.snapshot = b.Spec.ResourceSnapshotName
	_, _, period := o.placement.Spec.Strategy.Pace()
	state := assess(b, period, o.now)
	if !state.failed {
		o.taken++
	}
	if state.available {
		o.available++
	}
}
