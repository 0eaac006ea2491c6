// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/scheduling/placement"
)

// When a binding got what it names now, and which generation of it that is. What its
// status says of that generation, or a later one, is about what it names: other
// changes of a binding do not make its member unavailable.
const (
	AnnotationBoundAt         = "sluice.dev/bound-at"
	AnnotationBoundGeneration = "sluice.dev/bound-generation"
)

// Input is all that a plan depends on.
type Input struct {
	Placement *placementv1.ClusterResourcePlacement
	// Policy is the name of the snapshot of the policy that is in force.
	Policy string
	// PolicyHash is that of the policy; empty: nobody asks.
	PolicyHash string
	// Picked are the decisions for the members that are picked by it.
	Picked []placementv1.ClusterDecision
	// Snapshot is the one that the members shall have, by the name of its first
	// part; empty: there is none, so that nobody gets anything new.
	Snapshot string
	// Index of the snapshot; nothing depends on it.
	Index string
	// Excess: there are snapshots that nobody keeps; no step depends on it.
	Excess bool
	// Overrides are those for each member.
	Overrides map[string]Overrides
	// Made is when each stored snapshot of an override was made.
	Made map[types.NamespacedName]time.Time
	// Undefined lists, by member, the overrides that its binding names and that went with
	// the definition of their kind (Went).
	Undefined map[string]string
	// Bindings are all of the placement, in any order.
	Bindings []*placementv1.ClusterResourceBinding
	// Lacking are the members whose binding names the snapshot of an override that is
	// gone, where the strategy is External; no step depends on it.
	Lacking map[string]bool
	// Run is what a run allows, where the strategy is External; nil: nothing.
	Run *Run
	Now time.Time
}

// Overrides are the snapshots of overrides that concern a placement in a member, in
// their order.
type Overrides struct {
	Cluster []string
	InNames []placementv1.NamespacedName
	// For is what they see of the member; nil: there are none, or nobody noted it.
	For *placementv1.OverriddenFor
}

// Step is one write.
type Step struct {
	// Old is the binding as it is; nil: there is none.
	Old *placementv1.ClusterResourceBinding
	// Next is the binding as it shall be; nil: it has to go.
	Next *placementv1.ClusterResourceBinding
}

// Cluster is the member that the step is about.
func (s Step) Cluster() string {
	if s.Next != nil {
		return s.Next.Spec.TargetCluster
	}
	return s.Old.Spec.TargetCluster
}

// Wait says why a member does not yet have what it has to have.
type Wait struct {
	Cluster string
	Message string
}

// Plan is the writes to be made now, and what the other members wait for.
type Plan struct {
	// Steps by member, in the order of their names.
	Steps []Step
	// Waits are those that are not changed now, in the order of their names.
	Waits []Wait
	// Reason that somebody waits, and what they wait for; empty: nobody does.
	Reason, Message string
	// Due is when time alone will have changed something; zero: never.
	Due time.Time
}

// Next returns the writes that the strategy allows now, and what the other members wait
// for.
func Next(in Input) Plan {
	in.Run.setContent(&in)
	p := &planner{Input: in, picked: map[string]placementv1.ClusterDecision{}, next: map[string]*subject{}, names: map[string]types.UID{}}
	for _, d := range in.Picked {
		p.picked[d.ClusterName] = d
	}
	maxUnavailable, maxSurge, period := in.Placement.Spec.Strategy.Pace()
	p.period = period
	p.sort()
	p.count()
	p.free = p.available - (len(p.picked) - share(maxUnavailable, len(p.picked)))
	p.room = len(p.picked) + share(maxSurge, len(p.picked)) - p.taken
	p.decide()
	return p.plan()
}

// share is the number, which may be written as a string, or the part of all, rounded up.
func share(v intstr.IntOrString, of int) int {
	v = intstr.Parse(v.String())
	n, err := intstr.GetScaledValueFromIntOrPercent(&v, of, true)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// subject is a member with its binding.
type subject struct {
	cluster string
	// old is nil where it has none that is not on its way out.
	old *placementv1.ClusterResourceBinding
	// leaving is the binding on its way out; nil: there is none.
	leaving *placementv1.ClusterResourceBinding
	state   availability
	// move says that it may be changed now.
	move bool
}

type planner struct {
	Input
	picked   map[string]placementv1.ClusterDecision
	period   time.Duration
	next     map[string]*subject
	names    map[string]types.UID // of those on their way out
	subjects []*subject           // by name
	// available is how many are so, and will stay so if nobody touches them; taken
	// how many have the placement, or may come to have it.
	available, taken int
	// free is how many may become unavailable, room how many may get it.
	free, room int
	result     Plan
}

// sort makes a subject of each member that is picked, or has a binding.
func (p *planner) sort() {
	at := func(cluster string) *subject {
		s := p.next[cluster]
		if s == nil {
			s = &subject{cluster: cluster}
			p.next[cluster] = s
			p.subjects = append(p.subjects, s)
		}
		return s
	}
	bindings := slices.Clone(p.Bindings)
	slices.SortFunc(bindings, func(a, b *placementv1.ClusterResourceBinding) int { return cmp.Compare(a.Name, b.Name) })
	for _, b := range bindings {
		s := at(b.Spec.TargetCluster)
		switch {
		case b.DeletionTimestamp != nil:
			p.names[b.Name] = b.UID
			if s.leaving == nil || Given(b) {
				s.leaving = b
			}
		case s.old != nil: // somebody made another
			p.step(Step{Old: b})
		default:
			s.old = b
		}
	}
	for cluster := range p.picked {
		at(cluster)
	}
	slices.SortFunc(p.subjects, func(a, b *subject) int { return cmp.Compare(a.cluster, b.cluster) })
}

// count counts the members that are available, and those that have the placement. A
// member with nothing left but what holds others does not count: that stays until
// somebody approves its deletion.
func (p *planner) count() {
	for _, s := range p.subjects {
		if s.leaving != nil && Given(s.leaving) && !held(s.leaving) {
			p.taken++
		}
		if s.old == nil || !Given(s.old) {
			continue
		}
		s.state = assess(s.old, p.period, p.Now)
		if s.state.available {
			p.available++
		}
		if !s.state.failed {
			p.taken++
		}
		p.due(s.state.until)
	}
}

func (p *planner) due(at time.Time) {
	if !at.IsZero() && (p.result.Due.IsZero() || at.Before(p.result.Due)) {
		p.result.Due = at
	}
}

// Given reports whether the binding's member has the placement, or may have: it is
// bound, or was.
func Given(b *placementv1.ClusterResourceBinding) bool {
	return b.Spec.State == placementv1.BindingStateBound ||
		b.Spec.State == placementv1.BindingStateUnscheduled && b.Annotations[placementv1.AnnotationPreviousBindingState] == string(placementv1.BindingStateBound)
}

// decide says which members may be changed now: first those that lose the placement,
// then those that get another snapshot, then those that get the placement.
func (p *planner) decide() {
	if p.Placement.Spec.Strategy.External() {
		p.follow()
		return
	}
	for _, s := range p.subjects {
		if _, stays := p.picked[s.cluster]; !stays && s.old != nil {
			s.move = !Given(s.old) || p.spend(s)
		}
	}
	if p.Snapshot == "" {
		return
	}
	for _, s := range p.subjects {
		if _, stays := p.picked[s.cluster]; stays && s.old != nil && Given(s.old) && p.stale(s) {
			s.move = p.spend(s)
		}
	}
	for _, s := range p.subjects {
		_, wanted := p.picked[s.cluster]
		if wanted && s.leaving == nil && (s.old == nil || !Given(s.old)) && p.room > 0 {
			s.move = true
			p.room--
		}
	}
}

// spend takes one of the members that may become unavailable. One that is unavailable
// already takes none.
func (p *planner) spend(s *subject) bool {
	if !s.state.available {
		return true
	}
	if p.free <= 0 {
		return false
	}
	p.free--
	return true
}

// stale tells whether the member shall have another snapshot, or other overrides.
func (p *planner) stale(s *subject) bool {
	return !p.keeps(s) && differs(s.old, p.Snapshot, p.Overrides[s.cluster])
}

// plan makes the steps, and says who waits.
func (p *planner) plan() Plan {
	for _, s := range p.subjects {
		decision, stays := p.picked[s.cluster]
		switch {
		case !stays && s.old != nil:
			p.remove(s)
		case stays:
			p.keep(s, decision)
		}
	}
	slices.SortStableFunc(p.result.Steps, func(a, b Step) int { return cmp.Compare(a.Cluster(), b.Cluster()) })
	p.explain()
	return p.result
}

func (p *planner) step(s Step) { p.result.Steps = append(p.result.Steps, s) }

// remove takes the placement from a member, or says that it will be taken.
func (p *planner) remove(s *subject) {
	if s.move {
		p.step(Step{Old: s.old})
		return
	}
	p.wait(s, "no longer picked, and still has the placement")
	if s.old.Spec.State == placementv1.BindingStateUnscheduled {
		return
	}
	next := s.old.DeepCopy()
	annotate(next, placementv1.AnnotationPreviousBindingState, string(s.old.Spec.State))
	next.Spec.State = placementv1.BindingStateUnscheduled
	p.step(Step{Old: s.old, Next: next})
}

// keep gives a member the placement, or what of it does not have to wait.
func (p *planner) keep(s *subject, d placementv1.ClusterDecision) {
	next := p.fresh(s)
	if s.old != nil {
		next = s.old.DeepCopy()
		if next.Spec.State == placementv1.BindingStateUnscheduled { // it is picked again
			next.Spec.State = placementv1.BindingStateScheduled
			if Given(s.old) {
				next.Spec.State = placementv1.BindingStateBound
			}
			delete(next.Annotations, placementv1.AnnotationPreviousBindingState)
		}
	}
	next.Spec.SchedulingPolicySnapshotName, next.Spec.ClusterDecision = p.Policy, d
	next.Spec.ApplyStrategy = p.Placement.Spec.Strategy.ApplyStrategy
	next.Spec.DeleteStrategy = p.Placement.Spec.Strategy.DeleteStrategy
	if s.move {
		next.Spec.State, next.Spec.ResourceSnapshotName = placementv1.BindingStateBound, p.Snapshot
		p.Overrides[s.cluster].Name(next)
		delete(next.Annotations, AnnotationOverridesMade)
		annotate(next, AnnotationBoundAt, p.Now.UTC().Format(time.RFC3339Nano))
		annotate(next, AnnotationBoundGeneration, strconv.FormatInt(next.Generation+1, 10)) // the write makes it
	} else {
		p.freeze(next)
		p.waits(s, next)
	}
	noted, suspended, dated, missed := p.note(next), p.suspend(next), p.date(next), p.miss(next)
	if noted || suspended || dated || missed || s.old == nil || !equality.Semantic.DeepEqual(s.old.Spec, next.Spec) {
		p.step(Step{Old: s.old, Next: next})
	}
}

// freeze notes on a binding that was made before that was noted what its overrides see of
// its member.
func (p *planner) freeze(next *placementv1.ClusterResourceBinding) {
	if o := p.Overrides[next.Spec.TargetCluster]; next.Spec.OverriddenFor == nil && o.SameNames(OverridesOf(next)) {
		next.Spec.OverriddenFor = o.For
	}
}

// note notes on the binding by which policy its member is picked; true: it noted another
// one. One that notes none is not written for that alone.
func (p *planner) note(next *placementv1.ClusterResourceBinding) bool {
	noted := next.Annotations[placement.AnnotationPolicyHash]
	if p.PolicyHash != "" {
		annotate(next, placement.AnnotationPolicyHash, p.PolicyHash)
	}
	return noted != "" && noted != next.Annotations[placement.AnnotationPolicyHash]
}

// suspend says on the binding whether the placement is suspended in its member, so that
// its Works follow; false: it says so already.
func (p *planner) suspend(next *placementv1.ClusterResourceBinding) bool {
	suspended := propagation.PlacementSuspended(p.Placement.Annotations, next.Spec.TargetCluster)
	if suspended == Suspended(next) {
		return false
	}
	if suspended {
		annotate(next, propagation.AnnotationSuspended, "true")
	} else {
		delete(next.Annotations, propagation.AnnotationSuspended)
	}
	return true
}

// fresh is the binding of a member that has none.
func (p *planner) fresh(s *subject) *placementv1.ClusterResourceBinding {
	name := placement.BindingName(p.Placement.Name, s.cluster, "")
	for uid, taken := p.names[name]; taken; uid, taken = p.names[name] {
		name = placement.BindingName(p.Placement.Name, s.cluster, string(uid))
	}
	return newBinding(p.Placement, s.cluster, name)
}

// waits says why a member that is picked is not changed, if it has to be.
func (p *planner) waits(s *subject, next *placementv1.ClusterResourceBinding) {
	switch {
	case s.leaving != nil:
		p.wait(s, "what it had before is still being removed")
	case next.Spec.State == placementv1.BindingStateScheduled:
		p.wait(s, "picked, and gets the placement later")
	case p.keeps(s):
		p.wait(s, Undefined(p.Undefined[s.cluster]))
	case p.Snapshot == s.old.Spec.ResourceSnapshotName && p.stale(s):
		p.wait(s, fmt.Sprintf("has %s, and later gets it as the overrides make it now", p.Snapshot))
	case p.Snapshot != "" && p.stale(s):
		p.wait(s, fmt.Sprintf("has %s, and gets %s later", s.old.Spec.ResourceSnapshotName, p.Snapshot))
	}
}

func (p *planner) wait(s *subject, message string) {
	p.result.Waits = append(p.result.Waits, Wait{Cluster: s.cluster, Message: message})
}
