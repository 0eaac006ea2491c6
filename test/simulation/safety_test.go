// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"encoding/json"
	"slices"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/pipelinetest"
)

// safety is what is known for the checks at each write.
type safety struct {
	// suspensions are those that were set since the policy last said otherwise.
	suspensions map[propagation.PolicyKey]suspension.Suspension
	// contents are all that people ever wrote.
	contents contents
	// through are what the gate let through, and to which clusters.
	through map[passed]bool
	// owner is the uid of the template of each binding there ever was.
	owner map[string]string
	// acts is, for each template's uid, how many changes its content had seen
	// when a policy last acted on it.
	acts map[string]int
	// claims is the moment at which the present claim was decided at the earliest.
	claims map[string]int
	// proofs are what may leave the members.
	proofs proofs
	// repels is, for each cluster, since when it keeps out what is not there and does
	// not tolerate that: a moment.
	repels map[string]int
	// let is what the budget let go of each cluster.
	let map[string]letting
}

// passed is a content that the gate let through, to a cluster.
type passed struct{ uid, normal, cluster string }

func (s *safety) init() {
	s.suspensions, s.contents, s.through = map[propagation.PolicyKey]suspension.Suspension{}, newContents(), map[passed]bool{}
	s.proofs, s.repels, s.let = newProofs(), map[string]int{}, map[string]letting{}
	s.owner, s.acts, s.claims = map[string]string{}, map[string]int{}, map[string]int{}
}

// suspending notes which suspensions were set.
type suspending struct {
	*suspension.Map
	w *world
}

// SetPolicy is the detector's.
func (b suspending) SetPolicy(ctx context.Context, key propagation.PolicyKey, f suspension.Suspension) error {
	err := b.Map.SetPolicy(ctx, key, f)
	if err == nil {
		b.w.safety.suspensions[key] = f
	}
	return err
}

// begin notes what holds back each Work when an attempt to apply it begins.
func (s *safety) begin(f *flight) {
	f.reasons, f.tick, f.asking = nil, s.proofs.tick, asking{}
	if f.delivery.stage != applier.Name {
		return
	}
	if f.w.shared {
		f.w.noteRivals(f)
	}
	if d, err := events.Decode(f.delivery.event); err == nil {
		f.reasons = map[string]map[string]bool{}
		for _, one := range d.Each() {
			if work := f.w.hub.LiveWork(*one.Work); work != nil {
				f.reasons[work.Key.Cluster] = f.w.reasons(work)
			}
		}
	}
}

// reasons hold back a Work now, as far as the system can know.
func (w *world) reasons(work *propagation.Work) map[string]bool {
	found := map[string]bool{}
	b := w.hub.LiveBinding(work.Binding())
	// Nobody writes a Work any more that is being deleted: its binding counts,
	// and whether that may go is checked when it does.
	if work.Suspended() && !work.Deleting {
		found["the Work"] = true
	}
	if b != nil && b.SuspendedOn(work.Key.Cluster) {
		found["the binding"] = true
	}
	t := w.hub.Live(templateOf(work))
	if t == nil || !t.Claim.Held() {
		return found
	}
	// A suspension in Redis follows the claim map, into which a new claim, or none, is written
	// first; what the former policy suspended stays so with the binding until the
	// gate acts.
	if v, err := w.claims.Look(w.ctx, t.Key); err == nil && v.Holder != t.Claim {
		return found
	}
	p := w.hub.LivePolicy(t.Claim.Policy)
	if p != nil && t.Claim.By(p) && suspends(p.Spec.Suspension, work.Key.Cluster) && held(w.safety.suspensions[p.Key], work.Key.Cluster) {
		found[p.Key.String()] = true
	}
	return found
}

func suspends(s *policyv1alpha1.Suspension, cluster string) bool {
	all, names := s.Dispatch()
	return all || slices.Contains(names, cluster)
}

func held(f suspension.Suspension, cluster string) bool {
	return f.All || slices.Contains(f.Clusters, cluster)
}

// wroteMember checks what a stage just did to a member.
func (w *world) wroteMember(ctx context.Context, m pipelinetest.MemberWrite) {
	f := flightOf(ctx)
	ref := m.New
	if ref == nil {
		ref = m.Old
	}
	w.trace("      %s %s in %s", m.Verb, ref.Ref, m.Cluster)
	if f == nil || f.delivery.stage != applier.Name {
		w.fail("%s wrote to %s", f, m.Cluster)
		return
	}
	d, err := events.Decode(f.delivery.event)
	if err != nil {
		w.fail("decode %s: %v", f, err)
		return
	}
	if w.placed {
		w.checkCarried(m)
		if w.shared {
			w.checkTaken(f, m)
		}
		return
	}
	template := w.hub.Live(ref.Ref)
	each := d.Each()
	i := slices.IndexFunc(each, func(one events.Data) bool { return one.Cluster == m.Cluster })
	if i < 0 {
		w.fail("%s wrote to %s, which it does not name", f, m.Cluster)
		return
	}
	work := w.hub.LiveWork(*each[i].Work)
	if work != nil && (m.New != nil || template != nil && w.lives(work, template) && w.hub.LiveBinding(work.Binding()) != nil) {
		now := w.reasons(work)
		for why := range f.reasons[m.Cluster] {
			if now[why] {
				w.fail("%s %s in %s although %s is suspended there, and was when that began", m.Verb, ref.Ref, m.Cluster, why)
			}
		}
	}
	if !w.hub.Joined(m.Cluster) {
		w.strand(m.Cluster) // that began before it left
	}
	if m.New != nil && (w.hub.Dropped(pipelinetest.KindWorks) || !w.hub.HasNamespace("karmada-es-"+m.Cluster)) {
		w.mayOrphan(m.Cluster) // that began before people deleted what tells of it
	}
	if m.New == nil {
		w.safety.proofs.left(w, f, m)
		return
	}
	w.checkThrough(m)
}

// lives tells whether the very template lives that the Work is of.
func (w *world) lives(work *propagation.Work, t *propagation.Template) bool {
	return w.safety.owner[work.Annotations[propagation.AnnotationBindingUID]] == string(t.UID)
}

// checkThrough checks that the gate let that content through, to that cluster.
func (w *world) checkThrough(m pipelinetest.MemberWrite) {
	uid := w.safety.owner[m.Work.Annotations[propagation.AnnotationBindingUID]]
	p := passed{uid, normal(m.New.Content), ""}
	if !w.safety.through[p] {
		w.fail("%s got a content of %s that the gate never let through", m.Cluster, m.New.Ref)
		return
	}
	if p.cluster = m.Cluster; !w.safety.through[p] {
		w.fail("%s got a content of %s that no policy wanted there", m.Cluster, m.New.Ref)
	}
	w.safety.proofs.placed(w, m, uid)
}

// wrote checks what a stage just wrote to the hub.
func (w *world) wrote(ctx context.Context, write pipelinetest.Write) {
	w.trace("      %s", write)
	if b, ok := write.Old.(*propagation.Binding); ok && write.New == nil {
		w.checkRemoved(b)
		w.safety.proofs.look(w)
	}
	if b, ok := write.Old.(*placementv1.ClusterResourceBinding); ok && write.New == nil {
		w.checkLeft(flightOf(ctx), b, nil)
	}
	switch next := write.New.(type) {
	case *placementv1.ClusterStagedUpdateRun:
		w.noteTurns(next)
	case *placementv1.ClusterResourcePlacementEviction:
		w.checkEviction(flightOf(ctx), write.Old.(*placementv1.ClusterResourcePlacementEviction), next)
	case *placementv1.ClusterResourceBinding:
		old, _ := write.Old.(*placementv1.ClusterResourceBinding)
		w.checkPace(old, next)
		w.checkLeft(flightOf(ctx), old, next)
	case *propagation.Binding:
		old, _ := write.Old.(*propagation.Binding)
		w.past.require(next)
		w.wroteBinding(flightOf(ctx), old, next)
	case *propagation.Revision:
		if b := w.hub.LiveBinding(next.Binding); b != nil {
			w.frozen[keptContent{b.UID, next.Hash}] = true
		}
	case *propagation.Template:
		old := write.Old.(*propagation.Template)
		if old.Claim != next.Claim || old.Baseline != next.Baseline {
			w.safety.claims[string(next.UID)] = w.readable(flightOf(ctx))
		}
		// As its binding knows it, it may have the hash of what was acted on, which was read in
		// another version of its kind.
		if old.Itself().Hash != next.Itself().Hash {
			w.fail("Sluice changed the content of %s", next.Key)
		}
	}
}

// checkRemoved checks that nothing is taken away that a suspension holds: while
// the template lives, its binding stays where it or what took it along is
// suspended (S27).
func (w *world) checkRemoved(b *propagation.Binding) {
	if t := w.hub.Live(b.Template()); t == nil || t.UID != b.Spec.Resource.UID {
		return
	}
	if all, names := b.Spec.Suspension.Dispatch(); all || len(names) > 0 {
		w.fail("%s is deleted although it is suspended", b.Key)
	}
	for _, r := range b.Spec.RequiredBy {
		p := w.hub.LiveBinding(propagation.BindingKey{Namespace: r.Namespace, Name: r.Name})
		if p == nil || !slices.Contains(dependencies.Recorded(p), b.Template()) {
			continue // that one is gone, and this is another of its name
		}
		for _, c := range r.Clusters {
			if p.SuspendedOn(c.Name) {
				w.fail("%s is deleted although %s, which took it along, is suspended in %s", b.Key, p.Key, c.Name)
			}
		}
	}
}

func (w *world) wroteBinding(f *flight, old, next *propagation.Binding) {
	s := &w.safety
	uid := string(next.Spec.Resource.UID)
	s.owner[string(next.UID)] = uid
	s.proofs.attached(w, next)
	s.proofs.look(w)
	w.checkRepelled(f, old, next)
	w.checkLet(old, next)
	if next.ActedHash() == "" {
		return
	}
	w.letThrough(next)
	if f.delivery.stage != "gate" || old != nil && old.ActedHash() == next.ActedHash() && formIn(old) == formIn(next) {
		return
	}
	if old != nil && formIn(old) != "" || !w.remakes(next) {
		w.checkActivation(f, old, next)
	}
	w.past.remember(uid, bound{acted: w.safety.contents.of(next.ActedHash()), form: formIn(next)})
	s.acts[uid] = w.actedOn(f, next)
}

// letThrough notes what the binding lets through, and to which clusters.
func (w *world) letThrough(b *propagation.Binding) {
	if b.ActedHash() == "" {
		return
	}
	p := passed{string(b.Spec.Resource.UID), w.safety.contents.byHash[b.ActedHash()].normal, ""}
	for _, p.cluster = range append(w.wantedOn(b), "") {
		w.safety.through[p] = true
	}
}

// actedOn is the moment of the content that the gate acted on: where it reads what
// watches told, that may have changed before the attempt began.
func (w *world) actedOn(f *flight, b *propagation.Binding) int {
	c := w.safety.contents
	hash := c.byHash[b.ActedHash()].normal
	for count := f.since; w.lag && count >= w.past.from; count-- {
		t := w.past.at(count).things[b.Template().ID()]
		if t.uid == string(b.Spec.Resource.UID) && c.normals[t.hash] == hash {
			return count
		}
	}
	return f.since
}

// wantedOn are the clusters that a binding's policy, and those that require it,
// want its template on.
func (w *world) wantedOn(b *propagation.Binding) []string {
	var names []string
	for _, r := range b.Spec.RequiredBy {
		for _, c := range r.Clusters {
			names = append(names, c.Name)
		}
	}
	if formIn(b) != "" {
		names = append(names, w.eligible(b)...)
		if w.stuck(b) {
			names = append(names, scheduledTo(b)...) // it stays where it is
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkActivation checks, by the count of changes and not by any hash, that a
// policy that acted was not Lazy, or that the template changed since a policy
// last acted on it and, where it was claimed after that, since it was claimed.
func (w *world) checkActivation(f *flight, old, next *propagation.Binding) {
	if formIn(next) == "" || old != nil && formIn(old) == formIn(next) {
		return
	}
	uid := string(next.Spec.Resource.UID)
	for count := w.readable(f); count <= w.past.last(); count++ {
		m := w.past.at(count)
		for _, r := range m.rules {
			if r.Key.ID() != next.Annotations[propagation.AnnotationActivePolicy] || formOf(r.Policy) != formIn(next) {
				continue
			}
			if !r.lazy() || old != nil && old.Annotations["sluice.dev/activate"] == requestFor(r.Policy) || w.mayAct(f, uid, next.Template().ID(), r, old) {
				return
			}
		}
	}
	raw, _ := json.Marshal(next.Spec.Placement) // no value of it fails
	w.fail("what is in force for %s became %s %s, though its Lazy policy had to wait for a change", next.Template(),
		next.Annotations[propagation.AnnotationActivePolicy], raw)
}

// readable is the oldest moment that the attempt may have read.
func (w *world) readable(f *flight) int {
	if w.lag {
		return w.past.from
	}
	return max(f.since, w.past.from)
}

// mayAct tells whether a change of the template let a Lazy policy act.
func (w *world) mayAct(f *flight, uid, id string, r rule, old *propagation.Binding) bool {
	acted, everActed := w.safety.acts[uid]
	if old == nil || formIn(old) == "" {
		everActed = false
	}
	for count := w.readable(f); count <= w.past.last(); count++ {
		t := w.past.at(count).things[id]
		if t.uid != uid {
			continue
		}
		switch {
		case everActed && t.changed >= acted && t.changed > 0:
			return true
		case !everActed && (r.selectedAt(t.changed, t) || t.changed >= w.safety.claims[uid] || t.doubtful(r) || r.immediateSince(w.safety.claims[uid])):
			return true
		}
	}
	return false
}
