// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package evicting

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/rollout"
	"sluice.dev/pkg/core/scheduling/placement"
)

// Input is all that the decisions about a placement's evictions depend on.
type Input struct {
	// Placement that the evictions name; nil: there is none.
	Placement *placementv1.ClusterResourcePlacement
	// Policy is the latest snapshot of its policy, whose status says who is picked; nil:
	// there is none yet.
	Policy *placementv1.ClusterSchedulingPolicySnapshot
	// Bindings are the placement's, in any order.
	Bindings []*placementv1.ClusterResourceBinding
	// Budget of the placement; nil: it has none.
	Budget *placementv1.ClusterResourcePlacementDisruptionBudget
	// Evictions of the placement that have not been decided, in their order (Of).
	Evictions []*placementv1.ClusterResourcePlacementEviction
	Now       time.Time
}

// Verdict is what becomes of one eviction.
type Verdict struct {
	Eviction *placementv1.ClusterResourcePlacementEviction
	// Valid says that it names a member that the placement has, Executed that the
	// placement gives it up.
	Valid, Executed bool
	// Why, for people.
	Why string
	// gives says that the member is picked, and is not any more.
	gives bool
}

// Over reports whether the eviction has been decided.
func Over(e *placementv1.ClusterResourcePlacementEviction) bool {
	return meta.IsStatusConditionFalse(e.Status.Conditions, placementv1.ConditionEvictionValid) ||
		meta.FindStatusCondition(e.Status.Conditions, placementv1.ConditionEvictionExecuted) != nil
}

// Of returns those of the placement that have not been decided, the oldest first.
func Of(name string, all []*placementv1.ClusterResourcePlacementEviction) []*placementv1.ClusterResourcePlacementEviction {
	open := slices.DeleteFunc(slices.Clone(all), func(e *placementv1.ClusterResourcePlacementEviction) bool {
		return e.Spec.PlacementName != name || Over(e) || e.DeletionTimestamp != nil
	})
	slices.SortFunc(open, func(a, b *placementv1.ClusterResourcePlacementEviction) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return open
}

// Decide decides the evictions, one after the other.
func Decide(in Input) []Verdict {
	d := decider{in, in.picked()}
	all := make([]Verdict, 0, len(in.Evictions))
	for _, e := range in.Evictions {
		v := d.one(e)
		if v.gives {
			delete(d.picks, e.Spec.ClusterName)
		}
		all = append(all, v)
	}
	return all
}

// Evicted returns the members that are given up.
func Evicted(all []Verdict) map[string]bool {
	out := map[string]bool{}
	for _, v := range all {
		if v.gives {
			out[v.Eviction.Spec.ClusterName] = true
		}
	}
	return out
}

// Status returns what the eviction's status says from then on. The member may have been
// picked again, by what was decided since.
func (v Verdict) Status(again bool, now time.Time) placementv1.PlacementEvictionStatus {
	of := func(kind string, yes bool, reason, why string) []metav1.Condition {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: why, ObservedGeneration: v.Eviction.Generation}
		if yes {
			c.Status = metav1.ConditionTrue
		}
		list, _ := conditions.Set(nil, c, now)
		return list
	}
	if !v.Valid {
		return placementv1.PlacementEvictionStatus{Conditions: of(placementv1.ConditionEvictionValid, false, placementv1.ReasonEvictionInvalid, v.Why)}
	}
	reason, why := placementv1.ReasonEvictionNotExecuted, v.Why
	if v.Executed {
		reason = placementv1.ReasonEvictionExecuted
	}
	if v.gives && again {
		why += "; the scheduler picked the cluster again, so it keeps what it has: taint it first to keep the placement away"
	}
	return placementv1.PlacementEvictionStatus{Conditions: slices.Concat( // as released: Valid first
		of(placementv1.ConditionEvictionValid, true, placementv1.ReasonEvictionValid, "the placement has the cluster"),
		of(placementv1.ConditionEvictionExecuted, v.Executed, reason, why),
	)}
}

// decider is the input, with the members that are still picked.
type decider struct {
	Input
	picks map[string]bool
}

func (in Input) picked() map[string]bool {
	out := map[string]bool{}
	if in.Policy != nil {
		for _, d := range in.Policy.Status.ClusterDecisions {
			if d.Selected {
				out[d.ClusterName] = true
			}
		}
	}
	return out
}

func (d decider) one(e *placementv1.ClusterResourcePlacementEviction) Verdict {
	cluster := e.Spec.ClusterName
	invalid := func(format string, args ...any) Verdict {
		return Verdict{Eviction: e, Why: fmt.Sprintf(format, args...) + "; to ask again, delete this eviction and make another"}
	}
	p := d.Placement
	switch {
	case p == nil:
		return invalid("there is no ClusterResourcePlacement %q", e.Spec.PlacementName)
	case p.DeletionTimestamp != nil:
		return invalid("the placement %q is being deleted", p.Name)
	case p.Spec.Policy.Type() == placementv1.PickFixedPlacementType:
		return invalid("the placement %q names its clusters (PickFixed): take the cluster out of its clusterNames", p.Name)
	}
	b, leaves := d.binding(cluster)
	valid := Verdict{Eviction: e, Valid: true}
	switch {
	case !d.picks[cluster] && b == nil && !leaves:
		return invalid("the placement %q has not picked the cluster %q", p.Name, cluster)
	case !d.picks[cluster]:
		valid.Executed, valid.Why = true, "the cluster is losing the placement already"
	case b == nil || !rollout.Given(b):
		valid.Why = "the cluster was given nothing of the placement yet"
	default:
		why, allowed := d.allowed(b)
		valid.Executed, valid.gives, valid.Why = allowed, allowed, why
	}
	return valid
}

// binding returns the member's binding, and whether it has one on its way out.
func (d decider) binding(cluster string) (b *placementv1.ClusterResourceBinding, leaves bool) {
	for _, o := range d.Bindings {
		switch {
		case o.Spec.TargetCluster != cluster:
		case placement.Picks(o):
			b = o
		default:
			leaves = true
		}
	}
	return b, leaves
}

// allowed reports whether the member may lose what it has, and why.
func (d decider) allowed(b *placementv1.ClusterResourceBinding) (why string, yes bool) {
	_, failed, said := rollout.Available(d.Placement, b, d.Now)
	if failed {
		return "the placement failed in the cluster: " + said, true
	}
	if d.Budget == nil || d.Budget.Spec.MaxUnavailable == nil && d.Budget.Spec.MinAvailable == nil {
		return "no ClusterResourcePlacementDisruptionBudget limits it", true
	}
	least, misfit := d.least()
	if misfit != "" {
		return misfit, false
	}
	left := 0
	for _, o := range d.Bindings {
		if o == b || !placement.Picks(o) || !d.picks[o.Spec.TargetCluster] {
			continue
		}
		if is, _, _ := rollout.Available(d.Placement, o, d.Now); is {
			left++
		}
	}
	if left < least {
		return fmt.Sprintf("the ClusterResourcePlacementDisruptionBudget %q wants it available in %d clusters, and without this one it would be in %d", d.Budget.Name, least, left), false
	}
	return fmt.Sprintf("the ClusterResourcePlacementDisruptionBudget %q allows it", d.Budget.Name), true
}

// least returns in how many members the placement has to stay available, or why the budget
// does not say.
func (d decider) least() (n int, misfit string) {
	budget, policy := d.Budget.Spec, d.Placement.Spec.Policy
	about := fmt.Sprintf("the ClusterResourcePlacementDisruptionBudget %q", d.Budget.Name)
	wanted := 0
	if policy.Type() == placementv1.PickNPlacementType {
		if policy.NumberOfClusters != nil {
			wanted = int(*policy.NumberOfClusters)
		}
	} else if budget.MaxUnavailable != nil || budget.MinAvailable.Type == intstr.String {
		return 0, about + " needs a number of wanted clusters, which PickAll does not have: give it minAvailable, as a number"
	}
	limit := budget.MinAvailable
	if budget.MaxUnavailable != nil {
		limit = budget.MaxUnavailable
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(limit, wanted, true)
	switch {
	case err != nil:
		return 0, fmt.Sprintf("%s cannot be understood: %v", about, err)
	case budget.MaxUnavailable != nil:
		n = wanted - n
	}
	return n, ""
}
