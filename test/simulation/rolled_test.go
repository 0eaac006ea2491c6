// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/test/pipelinetest"
)

// Where placements are spread over zones, and which member is in which zone changes; where
// they are rolled back and released; and where somebody else than Sluice rolls them out.

const (
	rollBack verb = "roll back"               // kubectl sluice rollback --to-index
	release  verb = "release"                 // kubectl sluice rollback --release
	goOn     verb = "somebody else rolls out" // to one member, or takes from it what is no longer picked
)

// rolledBackTo is the annotation of a placement with the index that it stays at.
const rolledBackTo = "sluice.dev/rollback-to-index"

// rolls does what is about a placement's rollout.
func (w *world) rolls(o op) bool {
	name := o.policy.Name
	p := w.hub.LivePlacement(name)
	if p == nil {
		return false
	}
	switch o.verb {
	case release:
		return w.hub.AnnotatePlacement(name, rolledBackTo, "")
	case rollBack:
		all := w.hub.LiveResourceSnapshots(name)
		return len(all) > 0 && w.hub.AnnotatePlacement(name, rolledBackTo, all[o.n%len(all)].Labels[placementv1.LabelResourceIndex])
	}
	b, s := w.bindingTo(name, o.cluster), w.rolled(p)
	switch {
	case !p.Spec.Strategy.External() || b == nil || s == nil:
		return false
	case b.Spec.State == placementv1.BindingStateUnscheduled:
		return w.hub.UnbindPlacement(b.Name)
	}
	return w.hub.BindPlacement(b.Name, s.Name)
}

// bindingTo is the binding of a placement to a member that is not being deleted; nil: there
// is none.
func (w *world) bindingTo(placement, cluster string) *placementv1.ClusterResourceBinding {
	for _, b := range w.hub.LivePlacementBindings() {
		if b.Labels[placementv1.LabelParentCRP] == placement && b.Spec.TargetCluster == cluster && b.DeletionTimestamp == nil {
			return b
		}
	}
	return nil
}

// rolled is the snapshot that a placement's members are to have: the newest, or the one
// that it is rolled back to; nil: there is none.
func (w *world) rolled(p *placementv1.ClusterResourcePlacement) *placementv1.ClusterResourceSnapshot {
	pin, pinned := p.Annotations[rolledBackTo]
	var newest *placementv1.ClusterResourceSnapshot
	for _, s := range w.hub.LiveResourceSnapshots(p.Name) {
		if pinned && s.Labels[placementv1.LabelResourceIndex] == pin || !pinned && (newest == nil || indexOf(s) > indexOf(newest)) {
			newest = s
		}
	}
	return newest
}

// rolledTo tells whether the member has got the snapshot.
func (w *world) rolledTo(p *placementv1.ClusterResourcePlacement, cluster string, s *placementv1.ClusterResourceSnapshot) bool {
	b := w.bindingTo(p.Name, cluster)
	return s != nil && b.Spec.State == placementv1.BindingStateBound && b.Spec.ResourceSnapshotName == s.Name
}

// given is what a member is to have of a placement, by its ID: what is selected, as the
// overrides make it, or what the snapshot holds that the member stays at. Where the member
// waits for somebody else, or the snapshot is gone, that is not known: it keeps what it had.
func (w *world) given(placement, cluster string) (out map[string]*propagation.Template, known bool) {
	out = map[string]*propagation.Template{}
	p, b := w.hub.LivePlacement(placement), w.bindingTo(placement, cluster)
	if p == nil || b == nil || b.Spec.State != placementv1.BindingStateBound {
		return out, p == nil || b == nil || !p.Spec.Strategy.External()
	}
	if p.Spec.Strategy.External() && w.placing.rulings != nil {
		return out, false // it has what the overrides said when it was its turn
	}
	selected := w.inside(placement)
	if _, pinned := p.Annotations[rolledBackTo]; pinned || p.Spec.Strategy.External() {
		all := w.hub.LiveResourceSnapshots(placement)
		i := slices.IndexFunc(all, func(s *placementv1.ClusterResourceSnapshot) bool { return s.Name == b.Spec.ResourceSnapshotName })
		if i < 0 {
			return out, false // the history ended with it, in the moment in which it was asked for
		}
		selected = kept(all[i])
	}
	for id, t := range selected {
		if t = w.ruled(placement, cluster, t); t != nil {
			out[id] = t
		}
	}
	return out, true
}

// noteExternal notes since when somebody else rolls the placement out.
func (w *world) noteExternal(o op) {
	switch {
	case !o.asked.Strategy.External():
		delete(w.placing.external, o.policy.Name)
	case w.placing.external[o.policy.Name] == 0:
		if w.placing.external == nil {
			w.placing.external = map[string]int{}
		}
		w.placing.external[o.policy.Name] = w.past.last() + 1 // which is noted next
	}
}

func indexOf(s *placementv1.ClusterResourceSnapshot) int {
	n, _ := strconv.Atoi(s.Labels[placementv1.LabelResourceIndex]) // Sluice writes no other
	return n
}

// kept are the objects of a snapshot, by their ID.
func kept(s *placementv1.ClusterResourceSnapshot) map[string]*propagation.Template {
	out := map[string]*propagation.Template{}
	for _, r := range s.Spec.SelectedResources {
		var o unstructured.Unstructured
		if err := o.UnmarshalJSON(r.Raw); err == nil {
			key := propagation.TemplateKey{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
			out[key.ID()] = &propagation.Template{Key: key, Object: o.Object}
		}
	}
	return out
}

// checkRolled checks that each member that is picked has got what it is to have, or says
// what it waits for: nothing, unless somebody else rolls out, or the snapshot is gone.
func (w *world) checkRolled(p *placementv1.ClusterResourcePlacement, picked []string) {
	s := w.rolled(p)
	for _, b := range w.hub.LivePlacementBindings() {
		leaves := b.DeletionTimestamp != nil || b.Spec.State == placementv1.BindingStateUnscheduled && !p.Spec.Strategy.External()
		namespace := member.Ref{APIVersion: "v1", Kind: "Namespace", Name: selections[p.Name]}
		if leaves && b.Labels[placementv1.LabelParentCRP] == p.Name && !w.heldBack(b) && !w.holdsStranded(b.Spec.TargetCluster, namespace) {
			w.fail("%s is on its way out, and is there still", b.Name)
		}
	}
	for _, c := range picked {
		if w.rolledTo(p, c, s) {
			continue
		}
		if s != nil && !p.Spec.Strategy.External() {
			w.fail("%s is to have %s in %s", p.Name, s.Name, c)
		}
		i := slices.IndexFunc(p.Status.PlacementStatuses, func(told placementv1.ResourcePlacementStatus) bool { return told.ClusterName == c })
		if i < 0 {
			continue // which is found where it is checked what the placement tells
		}
		started := meta.FindStatusCondition(p.Status.PlacementStatuses[i].Conditions, placementv1.ConditionRolloutStarted)
		why := placementv1.ReasonRolloutControlledExternally
		if s == nil {
			why = placementv1.ReasonRolloutNotStartedYet // somebody rolled it back to what was just pruned
		}
		if started == nil || started.Status == metav1.ConditionTrue || started.Reason != why {
			w.fail("%s waits in %s, and says %+v", p.Name, c, started)
		}
	}
}

// checkRefused checks that each member that the placement might pick, and does not, has a
// reason.
func (w *world) checkRefused(p *placementv1.ClusterResourcePlacement, picked []string) {
	names := w.joined()
	if p.Spec.Policy != nil && p.Spec.Policy.PlacementType == placementv1.PickFixedPlacementType {
		names = p.Spec.Policy.ClusterNames
	}
	var all []placementv1.ClusterDecision
	if s := w.hub.LivePolicySnapshot(p.Name); s != nil {
		all = s.Status.ClusterDecisions
	}
	for _, c := range names {
		if !slices.Contains(picked, c) && !slices.ContainsFunc(all, func(d placementv1.ClusterDecision) bool { return d.ClusterName == c && !d.Selected && d.Reason != "" }) {
			w.fail("%s does not pick %s, and does not say why: %+v", p.Name, c, all)
		}
	}
}

// spreadTo tells whether the placement may go to one member more, if it is in those; zoned
// are the zones of all members, by their name.
func spreadTo(p *placementv1.PlacementPolicy, has []string, more string, zoned map[string]string) bool {
	for _, t := range p.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == placementv1.ScheduleAnyway {
			continue
		}
		if zoned[more] == "" {
			return false
		}
		if here, least := counted(has, zoned, zoned[more]); here+1-least > int(*t.MaxSkew) {
			return false
		}
	}
	return true
}

// counted are how many of those are in the zone, and in the one with the fewest.
func counted(has []string, zoned map[string]string, zone string) (here, least int) {
	count := map[string]int{}
	for _, z := range zoned {
		if z != "" {
			count[z] = 0
		}
	}
	for _, c := range has {
		if zoned[c] != "" {
			count[zoned[c]]++
		}
	}
	least = len(has)
	for _, n := range count {
		least = min(least, n)
	}
	return count[zone], least
}

// zoned are the zones of the members, as they are.
func (w *world) zoned() map[string]string {
	out := map[string]string{}
	for _, c := range w.joined() {
		out[c] = w.hub.LiveLabels(c)[zoneKey]
	}
	return out
}

// decidersHub notes by which members the scheduler decides, and looks at the decision.
type decidersHub struct {
	*pipelinetest.Hub
	w *world
}

// Fleet answers as the hub does.
func (h decidersHub) Fleet(ctx context.Context) ([]*memberclusterv1.MemberCluster, error) {
	all, err := h.Hub.Fleet(ctx)
	if f := flightOf(ctx); f != nil {
		f.members = all
	}
	return all, err
}

// CommitPolicySnapshotStatus answers as the hub does.
func (h decidersHub) CommitPolicySnapshotStatus(ctx context.Context, s *placementv1.ClusterSchedulingPolicySnapshot, status placementv1.SchedulingPolicySnapshotStatus) (*placementv1.ClusterSchedulingPolicySnapshot, error) {
	f := flightOf(ctx)
	if f != nil && f.asking.picked == nil {
		f.asking.picked = chosen(s.Status)
	}
	if f != nil && s.Spec.Policy != nil {
		h.w.checkDecided(f, s, status)
	}
	return h.Hub.CommitPolicySnapshotStatus(ctx, s, status)
}

// checkDecided checks one decision, by the members that the scheduler saw: who was picked
// by the same policy stays, and who is new does not unbalance the zones.
func (w *world) checkDecided(f *flight, s *placementv1.ClusterSchedulingPolicySnapshot, status placementv1.SchedulingPolicySnapshotStatus) {
	zoned := map[string]string{}
	for _, m := range f.members {
		if m.DeletionTimestamp == nil {
			zoned[m.Name] = m.Labels[zoneKey]
		}
	}
	was := slices.DeleteFunc(chosen(s.Status), func(c string) bool { _, lives := zoned[c]; return !lives })
	is := chosen(status)
	was = slices.DeleteFunc(was, func(c string) bool {
		return !slices.Contains(is, c) && f.asking.asked(s.Labels[placementv1.LabelParentCRP], c)
	})
	n, err := strconv.Atoi(s.Annotations[placementv1.AnnotationNumberOfClusters])
	if err != nil {
		n = len(clusters) // of the others no number is asked for
	}
	lost := 0
	for _, c := range was {
		if !slices.Contains(is, c) {
			lost++
		}
	}
	if lost != max(len(was)-n, 0) {
		w.fail("%s was decided to be in %v, and is to be in %v now, of %d", s.Name, was, is, n)
	}
	for i, c := range is {
		rest := slices.Delete(slices.Clone(is), i, i+1)
		if !slices.Contains(was, c) && !w.bound(s, c) && !spreadTo(s.Spec.Policy, rest, c, zoned) {
			w.fail("%s is to be in %v now, where %s is new; the zones are %v", s.Name, is, c, zoned)
		}
	}
}

// bound tells whether a member was picked by that policy before its latest snapshot.
func (w *world) bound(s *placementv1.ClusterSchedulingPolicySnapshot, cluster string) bool {
	b := w.bindingTo(s.Labels[placementv1.LabelParentCRP], cluster)
	return b != nil && len(s.Status.ClusterDecisions) == 0
}

func chosen(s placementv1.SchedulingPolicySnapshotStatus) []string {
	var names []string
	for _, d := range s.ClusterDecisions {
		if d.Selected {
			names = append(names, d.ClusterName)
		}
	}
	return names
}

// checkLeft checks that nobody of Sluice gives a member anything, or takes it away, where
// somebody else rolls out.
func (w *world) checkLeft(f *flight, old, next *placementv1.ClusterResourceBinding) {
	b := next
	if b == nil {
		b = old
	}
	name := b.Labels[placementv1.LabelParentCRP]
	p, since := w.hub.LivePlacement(name), w.placing.external[name]
	if p == nil || p.DeletionTimestamp != nil || since == 0 || since > w.readable(f) || w.placing.turns[turn{name, b.Spec.TargetCluster}] {
		return
	}
	gave := next != nil && next.Spec.State == placementv1.BindingStateBound && (old == nil || !sameContent(old, next))
	if took := next == nil && gives(old); gave || took {
		w.fail("%s is rolled out by somebody else, and Sluice wrote %+v, which was %+v", name, next, old)
	}
}

// gives tells whether a binding's member has what it names.
func gives(b *placementv1.ClusterResourceBinding) bool {
	return b.Spec.State == placementv1.BindingStateBound ||
		b.Spec.State == placementv1.BindingStateUnscheduled && b.Annotations[placementv1.AnnotationPreviousBindingState] == string(placementv1.BindingStateBound)
}

// rolledAbout is the history of a seed with placements that are spread, rolled back, and
// rolled out by somebody else.
func rolledAbout(seed int) (climate, []op) {
	c, h := carriedAbout(seed + 1<<21)
	d := newDrawer(uint64(seed) ^ 0x0e520000) //nolint:gosec // a seed
	spread, limit, external := d.chance(60), pick(d, []int32{0, 0, 1, 2}), len(h)
	if d.chance(50) {
		external = d.IntN(len(h) / 2)
	}
	constraints := d.constraints()
	out := []op{{verb: relabel, cluster: "m1"}, {verb: relabel, cluster: "m2", n: pick(d, []int{0, 0, 1, 2})}, {verb: relabel, cluster: "m3", n: 1}}
	crps := []propagation.PolicyKey{clusterWide("crp-1"), clusterWide("crp-1"), clusterWide("crp-2")}
	for i, o := range h {
		if d.chance(15) {
			constraints = d.constraints()
		}
		if o.verb == putPlacement && o.policy == crps[0] && spread {
			n := int32(d.IntN(4)) //nolint:gosec // small
			o.asked.Policy = &placementv1.PlacementPolicy{PlacementType: placementv1.PickNPlacementType, NumberOfClusters: &n, TopologySpreadConstraints: constraints}
		}
		if o.verb == putPlacement {
			if limit > 0 {
				o.asked.RevisionHistoryLimit = &limit
			}
			if o.policy == crps[0] && i >= external {
				o.asked.Strategy.Type = placementv1.ExternalRolloutStrategyType
			}
		}
		switch n := d.IntN(100); {
		case n < 15:
			out = append(out, op{verb: rollBack, policy: pick(d, crps), n: d.IntN(4)})
		case n < 25:
			out = append(out, op{verb: release, policy: pick(d, crps)})
		case n < 40:
			out = append(out, op{verb: relabel, cluster: pick(d, clusters), n: d.IntN(len(zones))})
		case n < 45:
			out = append(out, op{verb: taint, cluster: "m3", n: pick(d, []int{0, 2})})
		case n < 90 && i >= external:
			out = append(out, op{verb: goOn, policy: crps[0], cluster: pick(d, clusters)})
		}
		out = append(out, o)
	}
	return c, out
}

func (d drawer) constraints() []placementv1.TopologySpreadConstraint {
	skew := int32(1 + d.IntN(2)) //nolint:gosec // small
	return []placementv1.TopologySpreadConstraint{{
		MaxSkew: &skew, TopologyKey: zoneKey, WhenUnsatisfiable: pick(d, []placementv1.UnsatisfiableConstraintAction{placementv1.DoNotSchedule, placementv1.DoNotSchedule, placementv1.ScheduleAnyway}),
	}}
}

// fewSeeds are a sixth as many as seeds, and at most fifty; or those that are asked for.
func fewSeeds() (first, last int) {
	if first, last = share(6); number("SIM_FROM") > 0 {
		return first, last
	}
	return first, min(last, first+49)
}

// TestC42C61HistoriesWithSpreadsAndRollbacks runs a sixth as many as TestSimulation, and at
// most fifty.
func TestC42C61HistoriesWithSpreadsAndRollbacks(t *testing.T) {
	first, last := fewSeeds()
	did := each(t, first, last, rolledAbout)
	if t.Log(fmt.Sprint(did)); t.Failed() || last-first < 20 {
		return
	}
	for _, v := range []verb{rollBack, release, goOn, relabel} {
		if did[v] == 0 {
			t.Errorf("in none of %d histories anybody did %q", last-first+1, v)
		}
	}
}
