// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	placementv1 "sluice.dev/apis/placement/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/test/pipelinetest"
)

// What came of it that objects have several owners.
const (
	contended verb = "two owners wanted one object"
	passedOn  verb = "an object was passed on"
	tookOver  verb = "a foreign object was taken over"
	leftAlone verb = "a foreign object was left as it was"
	unread    verb = "an envelope could not be read"
	gaveUp    verb = "a member was given up"
	forbade   verb = "a budget forbade an eviction"
)

var came = []verb{contended, passedOn, tookOver, leftAlone, unread, gaveUp, forbade}

// owning is what these checks know.
type owning struct {
	// passed are the objects that one owner passed on to another, which has not applied
	// them since: it may have ceased to want them before it knew.
	passed map[place]bool
	// several are the namespaces of members in which there was ever something of another
	// than the placement that brought the namespace.
	several map[place]bool
	// given is since when a placement gave up a tainted member: a moment.
	given map[turn]int
}

// want is what one owner wants of an object.
type want struct {
	owner  string
	object map[string]any
	// never: an object that is nobody's stays so. same: unless it says the same already.
	never, same bool
	// told tells whether the owner says that it does not have the object, and why.
	told func(reasons ...string) bool
}

func (v want) takes(there map[string]any) bool {
	return !v.never && (!v.same || within(v.object, there))
}

// within tells whether there has all that obj says.
func within(obj, there any) bool {
	want, is := obj.(map[string]any)
	if !is {
		return digest(obj) == digest(there)
	}
	has, _ := there.(map[string]any)
	for k, v := range want {
		if !within(v, has[k]) {
			return false
		}
	}
	return true
}

// ownerOf is whose an object in a member is, by its marks; empty: nobody's, as where the
// Work is gone that it is marked with.
func (w *world) ownerOf(cluster string, o *pipelinetest.Object) string {
	if o == nil || o.Work == "" {
		return ""
	}
	for _, work := range w.hub.LiveWorks() {
		if work.Key.Cluster == cluster && o.WorkKey == work.Key.Namespace()+"/"+work.Key.Name {
			return w.ownerOfWork(work)
		}
	}
	return ""
}

// boundTo is what a member has of a placement: by the snapshot that its binding names, or
// named when it was picked. It is not whole where an envelope cannot be read.
func (w *world) boundTo(placement, cluster string) (out map[string]*propagation.Template, whole bool) {
	b := w.bindingTo(placement, cluster)
	if w.hub.LivePlacement(placement) == nil || b == nil || !gives(b) {
		return nil, true
	}
	for _, s := range w.hub.LiveResourceSnapshots(placement) {
		if s.Name == b.Spec.ResourceSnapshotName {
			return unwrapped(kept(s))
		}
	}
	return nil, false
}

// wants are what is wanted of each object in a member, by its ID. unclear are the
// placements of which that is not known, because an envelope cannot be read: they keep
// what they had.
func (w *world) wantsIn(cluster string) (out map[string][]want, unclear map[string]bool) {
	out, unclear = map[string][]want{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(selections)) {
		all, whole := w.boundTo(name, cluster)
		if !whole {
			unclear[name] = true
			continue
		}
		for id, t := range all {
			v := want{owner: name, object: t.Object, told: w.failedIn(name, cluster, t.Key)}
			if s := w.hub.LivePlacement(name).Spec.Strategy.ApplyStrategy; s != nil {
				v.never, v.same = s.WhenToTakeOver == placementv1.WhenToTakeOverTypeNever, s.WhenToTakeOver == placementv1.WhenToTakeOverTypeIfNoDiff
			}
			out[id] = append(out[id], v)
		}
	}
	for _, b := range w.hub.LiveBindings() {
		if inForce(b) && slices.Contains(w.goesTo(b), cluster) {
			id := b.Template().ID()
			out[id] = append(out[id], want{
				owner: b.Key.String(), object: w.safety.contents.byHash[b.ActedHash()].object,
				never: b.Spec.ConflictResolution != policyv1alpha1.ConflictOverwrite, told: unapplied(b, cluster),
			})
		}
	}
	return out, unclear
}

// failedIn tells whether a placement says that it does not have the object in the member.
func (w *world) failedIn(placement, cluster string, key propagation.TemplateKey) func(...string) bool {
	return func(reasons ...string) bool {
		for _, s := range w.hub.LivePlacement(placement).Status.PlacementStatuses {
			if s.ClusterName == cluster && slices.ContainsFunc(s.FailedPlacements, func(f placementv1.FailedResourcePlacement) bool {
				return f.Kind == key.Kind && f.Namespace == key.Namespace && f.Name == key.Name && slices.Contains(reasons, f.Condition.Reason) && f.Condition.Message != ""
			}) {
				return true
			}
		}
		return false
	}
}

// unapplied tells whether a binding says that it does not have its object in the member.
func unapplied(b *propagation.Binding, cluster string) func(...string) bool {
	return func(...string) bool {
		return !meta.IsStatusConditionTrue(b.Status.Conditions, workv1alpha2.ConditionFullyApplied) &&
			slices.ContainsFunc(b.Status.AggregatedStatus, func(s workv1alpha2.AggregatedStatusItem) bool {
				return s.ClusterName == cluster && !s.Applied && s.AppliedMessage != ""
			})
	}
}

// troubled tells whether a placement lacks something in a member that it is bound to.
func (w *world) troubled(placement string) bool {
	for _, c := range w.joined() {
		all, whole := w.boundTo(placement, c)
		if !whole {
			w.checkUnread(placement, c)
			return true
		}
		for _, t := range all {
			if o := w.members[c].Object(t.Key); w.ownerOf(c, o) != placement {
				return true
			}
		}
	}
	return false
}

// checkUnread checks that the placement names the key of the envelope that nobody can read.
func (w *world) checkUnread(placement, cluster string) {
	w.did[unread]++
	p := w.hub.LivePlacement(placement)
	if meta.IsStatusConditionTrue(p.Status.Conditions, placementv1.ConditionPlacementWorkSynchronized) && slices.Contains(w.has(placement), cluster) {
		w.fail("%s says that its Works are there, and the envelope for %s cannot be read", placement, cluster)
	}
	for _, s := range p.Status.PlacementStatuses {
		if s.ClusterName != cluster {
			continue
		}
		if c := meta.FindStatusCondition(s.Conditions, placementv1.ConditionWorkSynchronized); c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, brokenKey) {
			w.fail("%s does not say which key of the envelope cannot be read in %s: %+v", placement, cluster, c)
		}
	}
}

// checkShared checks whose each object is, in each member, that it says what its owner
// wants, and that all others who want it, and its owner, tell of that.
func (w *world) checkShared() {
	w.checkClaims()
	contested, doubtful := map[string]contest{}, false
	for _, c := range clusters {
		wants, unclear := w.wantsIn(c)
		doubtful = doubtful || len(unclear) > 0
		for _, o := range w.members[c].Objects() {
			if wants[o.Ref.ID()] == nil {
				w.checkUnwanted(c, o, unclear)
			}
		}
		if !w.hub.Joined(c) {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(wants)) {
			w.checkOwned(c, id, wants[id], unclear, contested)
		}
	}
	if !doubtful {
		w.checkContested(contested)
	}
	for _, name := range slices.Sorted(maps.Keys(selections)) {
		w.checkNewest(name)
	}
}

// checkClaims checks that each template is held by a policy that selects it, if there is
// one, and that what is in force is what both say.
func (w *world) checkClaims() {
	m := w.past.at(w.past.last())
	for _, t := range w.hub.LiveTemplates() {
		all := ranked(m.rules, m.things[t.Key.ID()])
		c, b := claimed{policy: t.Claim.Policy.ID(), id: t.Claim.ID}, w.bindingOf(t.Key)
		i := slices.IndexFunc(all, c.by)
		switch {
		case t.Deleting:
		case i < 0 && (len(all) > 0 || t.Claim.Held()): // what nobody holds any more stays where it is
			w.fail("%s is held by %q, and selected by %d policies", t.Key, c.policy, len(all))
		case i >= 0 && (b == nil || formIn(b) != formOf(all[i].Policy) || w.safety.contents.of(b.ActedHash()) != contentOf(t.Object)):
			w.fail("what is in force for %s is not what %s and its content say", t.Key, c.policy)
		}
	}
}

// checkUnwanted checks an object that nobody wants: it is nobody's.
func (w *world) checkUnwanted(cluster string, o *pipelinetest.Object, unclear map[string]bool) {
	owner, at := w.ownerOf(cluster, o), place{cluster, o.Ref.ID()}
	switch {
	case o.Work == "", unclear[owner], w.stranded[at], w.placing.passed[at]:
	case w.nowhere(owner): // where it goes nobody can tell, so what was there stays
	case o.Ref.Kind == "Namespace" && w.placing.several[place{cluster, o.Ref.Name}]: // it held what was not the placement's
	default:
		w.fail("%s has to be gone from %s, where it is of %s", o.Ref, cluster, owner)
	}
}

// nowhere tells whether that is a binding that no cluster fits.
func (w *world) nowhere(owner string) bool {
	return slices.ContainsFunc(w.hub.LiveBindings(), func(b *propagation.Binding) bool {
		return b.Key.String() == owner && w.stuck(b) && len(w.goesTo(b)) == 0
	})
}

// checkOwned checks an object that somebody wants.
func (w *world) checkOwned(cluster, id string, wants []want, unclear map[string]bool, contested map[string]contest) {
	i := slices.IndexFunc(w.members[cluster].Objects(), func(o *pipelinetest.Object) bool { return o.Ref.ID() == id })
	if i < 0 {
		w.fail("%s has to be in %s, where %s wants it", id, cluster, wants[0].owner)
		return
	}
	o, at := w.members[cluster].Objects()[i], place{cluster, id}
	owner, reasons := w.ownerOf(cluster, o), []string{"ApplyConflictBetweenPlacements"}
	own := slices.IndexFunc(wants, func(v want) bool { return v.owner == owner })
	switch {
	case owner == "":
		reasons = []string{"NotTakenOver", "FailedToTakeOver"}
		w.did[leftAlone]++
	case own >= 0 && (normal(o.Content) != normal(wants[own].object) || len(o.Spoilt) > 0):
		w.fail("%s in %s is not what %s says: %v, want %v", o.Ref, cluster, owner, o.Content, wants[own].object)
	case own < 0 && !unclear[owner] && !w.placing.passed[at]:
		w.fail("%s in %s is of %s, which does not want it", o.Ref, cluster, owner)
	}
	if own >= 0 {
		delete(w.stranded, at)
		delete(w.placing.passed, at)
	}
	for j, v := range wants {
		if j == own {
			if v.told("ApplyConflictBetweenPlacements", "NotTakenOver", "FailedToTakeOver") {
				w.fail("%s has %s in %s, and says that it has not", owner, o.Ref, cluster)
			}
			continue
		}
		if owner == "" && v.takes(o.Content) {
			w.fail("%s in %s is nobody's, and %s may take it", o.Ref, cluster, v.owner)
		}
		if !v.told(reasons...) {
			w.fail("%s is of %q in %s, and %s, which wants it, does not say so", o.Ref, owner, cluster, v.owner)
		}
		if own >= 0 {
			w.did[contended]++
			contested[owner] = contest{must: true}
		}
	}
	for _, v := range wants {
		contested[v.owner] = contest{must: contested[v.owner].must, may: contested[v.owner].may || len(wants) > 1}
	}
}

// contest is whether an owner has to say that others want what it has. It may say so where
// it had that: neither of them has it now.
type contest struct{ must, may bool }

// checkContested checks that those say so who have what others want, and nobody else.
func (w *world) checkContested(contested map[string]contest) {
	says := func(owner string, list []metav1.Condition) {
		c := contested[owner]
		if told := meta.IsStatusConditionTrue(list, "Contested"); told && !c.may || !told && c.must {
			w.fail("%s says that others want what it has: %t, and they do: %t", owner, told, c.must)
		}
	}
	for name := range selections {
		if p := w.hub.LivePlacement(name); p != nil {
			says(name, p.Status.Conditions)
		}
	}
	for _, b := range w.hub.LiveBindings() {
		says(b.Key.String(), b.Status.Conditions)
	}
}

// checkNewest checks that the newest snapshot holds what the placement selects.
func (w *world) checkNewest(name string) {
	p := w.hub.LivePlacement(name)
	if p == nil {
		return
	}
	has, want := map[string]string{}, map[string]string{}
	if s := w.rolled(p); s != nil {
		for id, t := range kept(s) {
			has[id] = normal(t.Object)
		}
	}
	for id, t := range w.inside(name) {
		want[id] = normal(t.Object)
	}
	if !maps.Equal(has, want) {
		w.fail("the newest snapshot of %s has %v, want %v", name, has, want)
	}
}

// noteRivals notes which Works of its members want what, when an attempt to apply begins.
func (w *world) noteRivals(f *flight) {
	f.rivals = map[place]map[propagation.WorkKey]bool{}
	for _, work := range w.hub.LiveWorks() {
		if work.Deleting {
			continue
		}
		for _, id := range carries(work) {
			at := place{work.Key.Cluster, id}
			if f.rivals[at] == nil {
				f.rivals[at] = map[propagation.WorkKey]bool{}
			}
			f.rivals[at][work.Key] = true
		}
	}
}

// carries are the IDs of a Work's objects.
func carries(work *propagation.Work) []string {
	var ids []string
	for _, obj := range pipelinetest.Manifests(work) {
		ids = append(ids, keyIn(obj).ID())
	}
	return ids
}

func keyIn(obj map[string]any) propagation.TemplateKey {
	text := func(m map[string]any, field string) string { s, _ := m[field].(string); return s }
	meta, _ := obj["metadata"].(map[string]any)
	return propagation.TemplateKey{APIVersion: text(obj, "apiVersion"), Kind: text(obj, "kind"), Namespace: text(meta, "namespace"), Name: text(meta, "name")}
}

// checkTaken checks what was just done to an object of a member: nobody takes it from
// another, or away from who wants it, nor what was somebody else's against what its
// strategy says.
func (w *world) checkTaken(f *flight, m pipelinetest.MemberWrite) {
	old := w.ownerOf(m.Cluster, m.Old)
	if m.New == nil {
		at := place{m.Cluster, m.Old.Ref.ID()}
		for key := range f.rivals[at] {
			if work := w.hub.LiveWork(key); work != nil && !work.Deleting && slices.Contains(carries(work), at.id) && w.ownerOfWork(work) != old {
				w.fail("%s was taken out of %s for %s, while %s wants it", m.Old.Ref, m.Cluster, old, key)
			}
		}
		return
	}
	at, owner := place{m.Cluster, m.New.Ref.ID()}, w.ownerOf(m.Cluster, m.New)
	if m.Verb == "patch" {
		w.did[passedOn]++
		w.placing.passed[at] = true
		return
	}
	delete(w.placing.passed, at)
	w.noteMixed(m.Cluster)
	switch {
	case m.Old == nil || old == owner:
	case old == "":
		w.did[tookOver]++
		w.checkTook(m)
	case m.Work.Placement() != "":
		w.fail("%s took %s in %s from %s", owner, m.New.Ref, m.Cluster, old)
	case m.Work.Annotations[propagation.AnnotationConflictResolution] != string(policyv1alpha1.ConflictOverwrite):
		w.fail("%s took %s in %s from %s, and its policy does not overwrite", owner, m.New.Ref, m.Cluster, old)
	}
}

// ownerOfWork is the placement or the binding that made the Work.
func (w *world) ownerOfWork(work *propagation.Work) string {
	if p := work.Placement(); p != "" {
		return p
	}
	return work.Binding().String()
}

// noteMixed notes the namespaces of a member that have objects of more than one owner.
func (w *world) noteMixed(cluster string) {
	owners := map[string]map[string]bool{}
	for _, o := range w.members[cluster].Objects() {
		namespace := o.Ref.Namespace
		if o.Ref.Kind == "Namespace" {
			namespace = o.Ref.Name
		}
		if owners[namespace] == nil {
			owners[namespace] = map[string]bool{}
		}
		owners[namespace][w.ownerOf(cluster, o)] = true
	}
	for namespace, all := range owners {
		if len(all) > 1 {
			w.placing.several[place{cluster, namespace}] = true
		}
	}
}

// heldBack tells whether a binding may be on its way out for long: its namespace holds in
// the member what others made, and stays until somebody approves.
func (w *world) heldBack(b *placementv1.ClusterResourceBinding) bool {
	return w.placing.several[place{b.Spec.TargetCluster, selections[b.Labels[placementv1.LabelParentCRP]]}]
}

// checkTook checks that a Work may take over what was nobody's.
func (w *world) checkTook(m pipelinetest.MemberWrite) {
	when := placementv1.WhenToTakeOverTypeAlways
	switch s := m.Work.Strategy; {
	case m.Work.Placement() == "":
		if m.Work.Annotations[propagation.AnnotationConflictResolution] != string(policyv1alpha1.ConflictOverwrite) {
			when = placementv1.WhenToTakeOverTypeNever
		}
	case s != nil:
		when = s.WhenToTakeOver
	}
	if when == placementv1.WhenToTakeOverTypeNever || when == placementv1.WhenToTakeOverTypeIfNoDiff && !within(m.New.Content, m.Old.Content) {
		w.fail("%s took over %v in %s, and it says %s", m.Work.Key, m.Old.Content, m.Cluster, when)
	}
}
