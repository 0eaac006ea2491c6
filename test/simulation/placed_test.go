// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/mirroring"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/test/pipelinetest"
)

// The third family of histories has placements, and no policies: namespaces with what is
// in them, members that are picked, and changes that are rolled out.

const (
	putPlacement  verb = "put placement"
	dropPlacement verb = "delete placement"
)

// selections are the namespaces, each of which one placement selects.
var selections = map[string]string{"crp-1": "shop", "crp-2": "other", rival: "shop"}

// placing is what the checks know of placements.
type placing struct {
	// moved tells that people changed something since the last rest by which what
	// members have may leave.
	moved bool
	// rulings are what the overrides say that there are.
	rulings map[propagation.PolicyKey]ruling
	// external is since when somebody else rolls a placement out.
	external map[string]int
	// turns are the members to which a run gave something, or from which it took it.
	turns map[turn]bool
	owning
}

// unused is a member whose nodes nobody can see.
func unused(context.Context, string) (*mirroring.Usage, error) { return &mirroring.Usage{}, nil }

// place does what is about placements.
func (w *world) place(o op) (changed, known bool) {
	switch o.verb {
	case putPlacement:
		if changed = w.hub.PutPlacement(o.policy.Name, *o.asked); changed {
			w.noteExternal(o)
		}
	case dropPlacement:
		changed = w.hub.DropPlacement(o.policy.Name)
	case putOverruling, dropOverruling, replaceOverruling:
		changed = w.overruleWith(o)
	case rollBack, release, goOn:
		changed = w.rolls(o)
	case putRun, dropRun, approveRun:
		changed = w.runs(o)
	case forgePlaced:
		if w.forgePlaced(o) {
			w.did[o.verb]++
		}
		return false, true // nothing comes of it
	case removePlaced:
		if w.removePlaced(o) {
			w.did[o.verb]++
		}
		return false, true
	default:
		var known bool
		if changed, known = w.shares(o); !known {
			return false, false
		}
	}
	if changed {
		w.did[o.verb]++
	}
	return changed, true
}

// placedAs is a placement for people.
func placedAs(s *placementv1.ClusterResourcePlacementSpec) string {
	raw, _ := json.Marshal(s.Policy) // no value of it fails
	limit := ""
	if s.RevisionHistoryLimit != nil {
		limit = fmt.Sprintf(", of which %d are kept", *s.RevisionHistoryLimit)
	}
	return fmt.Sprintf("%s by %s, %s%s", s.ResourceSelectors[0].Name, raw, s.Strategy.Type, limit)
}

// inside are the templates that a placement selects, by their ID: of a namespace that there
// is.
func (w *world) inside(placement string) map[string]*propagation.Template {
	out, namespace := map[string]*propagation.Template{}, selections[placement]
	if w.hub.Live(propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: namespace}) == nil {
		return out
	}
	for _, t := range w.hub.LiveTemplates() {
		if !t.Deleting && (t.Key.Namespace == namespace || t.Key.Kind == "Namespace" && t.Key.Name == namespace) {
			out[t.Key.ID()] = t
		}
	}
	return out
}

// has are the members that are picked, by the placement's bindings.
func (w *world) has(placement string) []string {
	var names []string
	for _, b := range w.hub.LivePlacementBindings() {
		if b.Labels[placementv1.LabelParentCRP] == placement && b.DeletionTimestamp == nil && b.Spec.State != placementv1.BindingStateUnscheduled {
			names = append(names, b.Spec.TargetCluster)
		}
	}
	slices.Sort(names)
	return names
}

// checkPlaced checks that each member has what the placements say, that they tell it, and
// that nothing is left of those that are gone.
func (w *world) checkPlaced() {
	for _, name := range slices.Sorted(maps.Keys(selections)) {
		if name == rival && !w.shared {
			continue
		}
		p, has := w.hub.LivePlacement(name), w.has(name)
		if p == nil {
			w.checkUnplaced(name)
		} else {
			w.checkPicked(p, has)
			w.checkRefused(p, has)
			if w.shared && w.troubled(name) {
				continue // what is not available may hold a rollout up
			}
			w.checkRolled(p, has)
			w.checkStatus(p, has)
		}
		for _, c := range clusters {
			if w.shared {
				break // of one member all owners are looked at together
			}
			if want, known := w.given(name, c); known {
				w.checkCarriedTo(name, c, want)
			}
		}
	}
	w.checkOverruled()
	w.checkRuns()
	if w.shared {
		w.checkShared()
		w.checkEvicted()
	}
	w.placing.moved = false
}

// checkUnplaced checks that nothing is left of a placement.
func (w *world) checkUnplaced(name string) {
	for _, s := range w.hub.LiveSnapshots() {
		if strings.HasPrefix(s, name+"-") {
			w.fail("%s outlives its placement", s)
		}
	}
	for _, b := range w.hub.LivePlacementBindings() {
		if b.Labels[placementv1.LabelParentCRP] == name {
			w.fail("%s outlives its placement", b.Name)
		}
	}
	for _, work := range w.hub.LiveWorks() {
		if work.Placement() == name {
			w.fail("%s outlives its placement", work.Key)
		}
	}
}

// checkPicked checks that the members are those that the placement asks for. A taint keeps
// out what is not there.
func (w *world) checkPicked(p *placementv1.ClusterResourcePlacement, has []string) {
	policy := p.Spec.Policy
	var must []string
	for _, c := range w.joined() {
		named := policy == nil || policy.PlacementType != placementv1.PickFixedPlacementType || slices.Contains(policy.ClusterNames, c)
		free := policy != nil && policy.PlacementType == placementv1.PickFixedPlacementType || !w.keepsOut(policy, c)
		if named && free {
			must = append(must, c)
		}
	}
	for _, c := range has {
		if !w.hub.Joined(c) {
			w.fail("%s is in %s, which has left", p.Name, c)
		}
		if policy != nil && policy.PlacementType == placementv1.PickFixedPlacementType && !slices.Contains(policy.ClusterNames, c) {
			w.fail("%s is in %s, which it does not name", p.Name, c)
		}
	}
	if policy != nil && policy.PlacementType == placementv1.PickNPlacementType {
		may := slices.DeleteFunc(must, func(c string) bool { return slices.Contains(has, c) || !spreadTo(policy, has, c, w.zoned()) })
		if n := int(*policy.NumberOfClusters); len(has) != n && (len(has) > n || len(may) > 0) {
			w.fail("%s is in %v, want %d, and there are %v", p.Name, has, n, may)
		}
		return
	}
	for _, c := range must {
		if !slices.Contains(has, c) {
			w.fail("%s is in %v, and has to be in %v", p.Name, has, must)
		}
	}
}

// keepsOut tells whether the cluster has a taint that the policy does not tolerate.
func (w *world) keepsOut(p *placementv1.PlacementPolicy, cluster string) bool {
	return slices.ContainsFunc(w.hub.LiveTaints(cluster), func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule && (p == nil || !slices.ContainsFunc(p.Tolerations, func(o placementv1.Toleration) bool { return o.Key == t.Key }))
	})
}

// checkStatus checks that the placement tells where it is.
func (w *world) checkStatus(p *placementv1.ClusterResourcePlacement, has []string) {
	var told []string
	for _, s := range p.Status.PlacementStatuses {
		if s.ClusterName != "" && slices.Contains(has, s.ClusterName) {
			told = append(told, s.ClusterName)
		}
	}
	slices.Sort(told)
	if !slices.Equal(told, has) {
		w.fail("%s tells of %v, and is in %v", p.Name, told, has)
	}
	if policy := p.Spec.Policy; policy != nil && (policy.NumberOfClusters != nil && len(has) < int(*policy.NumberOfClusters) || len(has) < len(policy.ClusterNames)) {
		return // what is not fully scheduled says nothing of the rest
	}
	if s := w.rolled(p); slices.ContainsFunc(has, func(c string) bool { return !w.rolledTo(p, c, s) }) {
		return // somebody waits, for which there is a reason
	}
	if p.Spec.Strategy.External() && slices.ContainsFunc(has, func(c string) bool { return w.lacks(w.bindingTo(p.Name, c)) }) {
		w.checkLacking(p)
		return
	}
	if c := meta.FindStatusCondition(p.Status.Conditions, placementv1.ConditionPlacementAvailable); len(has) > 0 && (c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != p.Generation) {
		w.fail("%s has generation %d and is in %v, and of being available it says %+v", p.Name, p.Generation, has, c)
	}
}

// checkCarriedTo checks that the member has of the placement's namespace what is wanted,
// and nothing else that is ours but what it had when it left.
func (w *world) checkCarriedTo(placement, cluster string, want map[string]*propagation.Template) {
	for id, t := range want {
		o := w.members[cluster].Object(t.Key)
		switch {
		case o == nil || o.Work == "":
			w.fail("%s has to be in %s", t.Key, cluster)
		case normal(o.Content) != normal(t.Object):
			w.fail("%s in %s is not what %s says: %s, want %s", t.Key, cluster, placement, normal(o.Content), normal(t.Object))
		default:
			delete(w.stranded, place{cluster, id})
		}
	}
	for _, o := range w.members[cluster].Objects() {
		namespace := selections[placement]
		ours := o.Work != "" && (o.Ref.Namespace == namespace || o.Ref.Kind == "Namespace" && o.Ref.Name == namespace)
		if ours && want[o.Ref.ID()] == nil && w.holdsStranded(cluster, o.Ref) {
			w.stranded[place{cluster, o.Ref.ID()}] = true
		}
		if ours && want[o.Ref.ID()] == nil && !w.stranded[place{cluster, o.Ref.ID()}] {
			w.fail("%s has to be gone from %s", o.Ref, cluster)
		}
	}
}

// holdsStranded tells whether it is a Namespace with something in it that the member had
// when it left: it stays with that.
func (w *world) holdsStranded(cluster string, ref member.Ref) bool {
	return ref.Kind == "Namespace" && slices.ContainsFunc(w.members[cluster].Objects(), func(o *pipelinetest.Object) bool {
		return o.Ref.Namespace == ref.Name && w.stranded[place{cluster, o.Ref.ID()}]
	})
}

// checkCarried checks what was just written to a member: nothing that nobody ever wrote,
// and nothing leaves while nobody changed anything by which it may.
func (w *world) checkCarried(m pipelinetest.MemberWrite) {
	if !w.hub.Joined(m.Cluster) || w.left[m.Cluster] && !w.hub.TakesPart(m.Cluster) {
		w.strand(m.Cluster) // it is leaving, and keeps what it has
	}
	if m.New != nil {
		return
	}
	if !w.placing.moved {
		w.fail("%s was taken out of %s, and nobody asked for anything", m.Old.Ref, m.Cluster)
	}
}

// checkPace checks that a rollout makes no member unavailable while as many are as may be.
// Runs have a pace of their own (noteTurns).
func (w *world) checkPace(old, next *placementv1.ClusterResourceBinding) {
	if old == nil || sameContent(old, next) || next.DeletionTimestamp != nil || !available(old) {
		return
	}
	var lost, picked []string
	name := next.Labels[placementv1.LabelParentCRP]
	if p := w.hub.LivePlacement(name); p != nil && p.Spec.Strategy.External() {
		return
	}
	if s := w.hub.LivePolicySnapshot(name); s != nil {
		picked = chosen(s.Status) // the others are about to lose it
	}
	for _, b := range w.hub.LivePlacementBindings() {
		if b.Labels[placementv1.LabelParentCRP] != name || b.DeletionTimestamp != nil || b.Spec.State != placementv1.BindingStateBound || !slices.Contains(picked, b.Spec.TargetCluster) {
			continue
		}
		if b.Name != next.Name && !available(b) && w.hub.TakesPart(b.Spec.TargetCluster) {
			lost = append(lost, b.Spec.TargetCluster)
		}
	}
	if len(lost) >= w.mayLack(name, len(picked)) {
		w.fail("%s gets %s while %v are not available", next.Spec.TargetCluster, next.Spec.ResourceSnapshotName, lost)
	}
}

// sameContent tells whether two forms of a binding give its member the same.
func sameContent(a, b *placementv1.ClusterResourceBinding) bool {
	content := func(b *placementv1.ClusterResourceBinding) any {
		return []any{b.Spec.ResourceSnapshotName, b.Spec.ClusterResourceOverrideSnapshots, b.Spec.ResourceOverrideSnapshots, b.Spec.OverriddenFor}
	}
	return equality.Semantic.DeepEqual(content(a), content(b))
}

// mayLack is how many of its members a placement may make unavailable at once: a quarter,
// or as many as it says.
func (w *world) mayLack(placement string, members int) int {
	if p := w.hub.LivePlacement(placement); p != nil && p.Spec.Strategy.RollingUpdate != nil && p.Spec.Strategy.RollingUpdate.MaxUnavailable != nil {
		return p.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue()
	}
	return max(1, (members+3)/4)
}

// boundGeneration, as an annotation of a binding, is the generation in which it got what it
// names: what its status says of an earlier one is not about that.
const boundGeneration = "sluice.dev/bound-generation"

func available(b *placementv1.ClusterResourceBinding) bool {
	since := b.Generation
	if n, err := strconv.ParseInt(b.Annotations[boundGeneration], 10, 64); err == nil {
		since = n
	}
	c := meta.FindStatusCondition(b.Status.Conditions, placementv1.ConditionAvailable)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration >= since
}

// carriedAbout is the history of a seed with placements.
func carriedAbout(seed int) (climate, []op) {
	d := newDrawer(uint64(seed) ^ 0xc3900000) //nolint:gosec // a seed
	c := d.climate()
	c.placed, c.follow = true, false
	var h []op
	for _, namespace := range []string{"shop", "other"} {
		h = append(h, op{verb: putTemplate, key: propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: namespace}, content: content{tier: "front"}})
	}
	kinds := map[string]placementv1.PlacementType{}
	for range 6 + d.IntN(14) {
		h = append(h, d.placedOp(kinds)...)
		if d.chance(10) {
			h = append(h, d.forgesPlaced())
		}
		if d.chance(20) {
			continue
		}
		if d.chance(15) {
			h = append(h, d.troubles()...)
		}
		h = append(h, op{verb: deliver, n: 1 + d.IntN(pick(d, []int{6, 30, 120})), seed: d.Uint64() | 1})
		if d.chance(20) {
			h = append(h, op{verb: tick, after: 15 * time.Second})
		}
		if d.chance(20) {
			h = append(h, op{verb: rest})
		}
	}
	return c, h
}

func (d drawer) placedOp(kinds map[string]placementv1.PlacementType) []op {
	objects := []propagation.TemplateKey{nginx, settings, namesake, other}
	switch n := d.IntN(100); {
	case n < 35:
		o := op{verb: putTemplate, key: pick(d, objects), content: d.content()}
		o.content.refers = false
		return []op{o}
	case n < 45:
		return []op{{verb: dropTemplate, key: pick(d, objects)}}
	case n < 75:
		return []op{d.placementOp(kinds)}
	case n < 80:
		return []op{{verb: dropPlacement, policy: clusterWide(pick(d, []string{"crp-1", "crp-2"}))}}
	case n < 88:
		return d.leave()
	case n < 95:
		return []op{{verb: taint, cluster: pick(d, clusters), n: pick(d, []int{0, 2})}}
	}
	return []op{{verb: pick(d, []verb{spoilObject, loseObject}), key: pick(d, objects), cluster: pick(d, clusters)}}
}

// placementOp is a placement's first or next form: of which type it is never changes, nor
// is a toleration taken away.
func (d drawer) placementOp(kinds map[string]placementv1.PlacementType) op {
	return d.placementOf(pick(d, []string{"crp-1", "crp-1", "crp-2"}), kinds)
}

func (d drawer) placementOf(name string, kinds map[string]placementv1.PlacementType) op {
	if kinds[name] == "" {
		kinds[name] = pick(d, []placementv1.PlacementType{placementv1.PickAllPlacementType, placementv1.PickFixedPlacementType, placementv1.PickNPlacementType})
	}
	spec := &placementv1.ClusterResourcePlacementSpec{
		ResourceSelectors: []placementv1.ClusterResourceSelector{{Version: "v1", Kind: "Namespace", Name: selections[name]}},
		Policy:            &placementv1.PlacementPolicy{PlacementType: kinds[name]},
		Strategy:          placementv1.RolloutStrategy{Type: placementv1.RollingUpdateRolloutStrategyType},
	}
	switch kinds[name] {
	case placementv1.PickFixedPlacementType:
		spec.Policy.ClusterNames = d.placement().ClusterAffinity.ClusterNames
	case placementv1.PickNPlacementType:
		n := int32(d.IntN(4)) //nolint:gosec // small
		spec.Policy.NumberOfClusters = &n
	}
	return op{verb: putPlacement, policy: clusterWide(name), asked: spec}
}

// TestPlaced runs histories of the third family: a third as many as those of
// TestSimulation.
func TestPlaced(t *testing.T) {
	first, last := share(3)
	did := each(t, first, last, carriedAbout)
	if t.Log(fmt.Sprint(did)); t.Failed() || last-first < 50 {
		return
	}
	for _, v := range []verb{putPlacement, dropPlacement, unjoin, rejoin, taint, forgePlaced} {
		if did[v] == 0 {
			t.Errorf("in none of %d histories anybody did %q", last-first+1, v)
		}
	}
}
