// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package explaining

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rollout"
	"sluice.dev/pkg/core/scheduling/placement"
)

// Outlook is what a placement that is not applied yet would do, assuming that all
// objects become available in the members.
type Outlook struct {
	Name string `json:"name"`
	// Selected are the objects, in the order in which members get them.
	Selected []placementv1.ResourceIdentifier `json:"selected"`
	// Snapshot that members would get; New: it does not exist yet.
	Snapshot string `json:"snapshot"`
	New      bool   `json:"new,omitempty"`
	// Unfulfilled says that fewer members can be picked than are asked for; empty:
	// enough can.
	Unfulfilled string          `json:"unfulfilled,omitempty"`
	Members     []OutlookMember `json:"members"`
	// Stuck is why the rollout would not finish; empty: it would.
	Stuck string `json:"stuck,omitempty"`
}

// OutlookMember is what would happen in one member.
type OutlookMember struct {
	Cluster string `json:"cluster"`
	Picked  bool   `json:"picked"`
	Why     string `json:"why,omitempty"`
	// Change is one of the constants below; empty: nothing changes.
	Change string `json:"change,omitempty"`
	// Step of the rollout in which that happens, from 1; 0: it does not happen.
	Step int `json:"step,omitempty"`
}

// What happens to a member.
const (
	Gets    = "gets it"
	Updated = "is updated"
	Loses   = "loses it"
)

// Selected returns what members have of the placement now, according to its status:
// only keys.
func (p Placed) Selected() placing.Content {
	if p.Placement == nil {
		return placing.Content{}
	}
	var items []placing.Item
	for _, r := range p.Placement.Status.SelectedResources {
		gv := schema.GroupVersion{Group: r.Group, Version: r.Version}
		items = append(items, placing.Item{Key: propagation.TemplateKey{APIVersion: gv.String(), Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}})
	}
	return placing.NewContent(items)
}

// Outlook returns what the placement would do if it became next: members are all joined
// members, content is what it would select.
func (p Placed) Outlook(next *placementv1.ClusterResourcePlacement, content placing.Content, members []*memberclusterv1.MemberCluster, now time.Time) Outlook {
	policy := policyInForce(placing.NextPolicy(next, p.Policies), p.Policies)
	d := placement.Decide(placement.Input{Policy: policy, Members: members, Bindings: p.Bindings, Now: now})
	o := Outlook{Name: next.Name, Selected: placing.Resources(content.Items())}
	if d.Condition.Status != metav1.ConditionTrue {
		o.Unfulfilled = d.Condition.Message
	}
	o.Snapshot, o.New = p.snapshotOf(next, content)
	w := rehearsal{now: now, bindings: map[string]*placementv1.ClusterResourceBinding{}, changes: map[string]OutlookMember{}}
	for _, b := range p.Bindings {
		w.bindings[b.Name] = b.DeepCopy()
	}
	w.in = rollout.Input{Placement: next, Policy: policy.Name, Picked: d.Picked, Snapshot: o.Snapshot, Overrides: p.overrides()}
	o.Stuck = w.roll()
	for _, decision := range append(slices.Clone(d.Picked), d.Unpicked...) {
		m := w.changes[decision.ClusterName]
		m.Cluster, m.Picked, m.Why = decision.ClusterName, decision.Selected, decision.Reason
		w.changes[m.Cluster] = m
	}
	o.Members = slices.SortedFunc(maps.Values(w.changes), func(a, b OutlookMember) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return o
}

// policyInForce returns the policy snapshot in force after the plan has been executed.
func policyInForce(plan placing.PolicyPlan, stored []*placementv1.ClusterSchedulingPolicySnapshot) *placementv1.ClusterSchedulingPolicySnapshot {
	if plan.Create != nil {
		return plan.Create
	}
	i := slices.IndexFunc(stored, func(s *placementv1.ClusterSchedulingPolicySnapshot) bool { return s.Name == plan.Latest })
	latest := stored[i].DeepCopy()
	for _, e := range plan.Edit {
		if e.Name == latest.Name && e.Annotations != nil {
			latest.Annotations = e.Annotations
		}
	}
	return latest
}

// snapshotOf returns the snapshot that members would get: the one that the placement is
// rolled back to, the latest if it has that content, or a new one.
func (p Placed) snapshotOf(next *placementv1.ClusterResourcePlacement, content placing.Content) (name string, fresh bool) {
	if _, pinned := placing.Pinned(next); pinned {
		name, _ = rollout.Wanted(next, p.Snapshots)
		return name, false
	}
	index := -1
	for _, r := range p.History() {
		if r.Latest && r.Hash == content.Hash() {
			return r.Name, false
		}
		index = max(index, r.Index)
	}
	return placing.SnapshotName(next.Name, index+1), true
}

// rehearsal simulates a rollout.
type rehearsal struct {
	in       rollout.Input
	now      time.Time
	bindings map[string]*placementv1.ClusterResourceBinding
	changes  map[string]OutlookMember
}

// roll simulates the rollout until nothing is left to do; stuck is what it is waiting
// for then.
func (r *rehearsal) roll() (stuck string) {
	waited, step := false, 1
	for range 4 * (len(r.bindings) + len(r.in.Picked) + 1) {
		r.in.Now, r.in.Bindings = r.now, slices.Collect(maps.Values(r.bindings))
		plan := rollout.Next(r.in)
		if len(plan.Steps) == 0 && (waited || len(plan.Waits) == 0) {
			return plan.Message
		}
		waited = len(plan.Steps) == 0
		seen := false
		for _, s := range plan.Steps {
			seen = r.carryOut(s, step) || seen
		}
		if seen {
			step++
		}
		r.arrive()
	}
	return "more steps than there are members"
}

// carryOut simulates one write, and reports whether it affects its member.
func (r *rehearsal) carryOut(s rollout.Step, step int) bool {
	had := s.Old != nil && hasIt(s.Old)
	if s.Next == nil {
		delete(r.bindings, s.Old.Name)
	} else {
		b := s.Next.DeepCopy()
		b.Generation++
		r.bindings[b.Name] = b
	}
	change := ""
	switch {
	case s.Next == nil && had:
		change = Loses
	case s.Next != nil && s.Next.Spec.State == placementv1.BindingStateBound && !had:
		change = Gets
	case s.Next != nil && had && s.Next.Spec.ResourceSnapshotName != s.Old.Spec.ResourceSnapshotName:
		change = Updated
	}
	if change == "" {
		return false
	}
	r.changes[s.Cluster()] = OutlookMember{Cluster: s.Cluster(), Change: change, Step: step}
	return true
}

// hasIt reports whether the binding's member has the placement's objects, or may.
func hasIt(b *placementv1.ClusterResourceBinding) bool { return b.Spec.ResourceSnapshotName != "" }

// arrive makes everything that was rolled out available, and removes what is being
// deleted.
func (r *rehearsal) arrive() {
	for name, b := range r.bindings {
		if b.DeletionTimestamp != nil {
			delete(r.bindings, name)
			continue
		}
		b.Status.Conditions = []metav1.Condition{{
			Type: placementv1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: placementv1.ReasonAllWorkAvailable,
			ObservedGeneration: b.Generation, LastTransitionTime: metav1.NewTime(r.now),
		}}
	}
}
