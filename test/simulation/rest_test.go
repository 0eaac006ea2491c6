// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/redis/schema"
	"sluice.dev/test/pipelinetest"
)

// atRest checks the state against the model, which goes on from it.
func (w *world) atRest() {
	if w.placed {
		w.checkPlaced()
		return
	}
	states := map[string]state{}
	for _, key := range w.past.ever {
		s := w.state(key)
		states[key.ID()] = s
		w.checkReached(key, s)
		w.checkSettled(key, s)
	}
	w.checkBindings()
	w.checkRevisions()
	w.checkHeld()
	w.checkWorks()
	w.checkNames()
	for _, name := range clusters {
		w.checkMember(w.members[name])
	}
	w.checkRedis()
	w.past.settle(w, states)
}

// state is where a template is.
func (w *world) state(key propagation.TemplateKey) state {
	t, b := w.hub.Live(key), w.bindingOf(key)
	if t == nil {
		return state{}
	}
	s := state{}
	if b != nil && b.Spec.Resource.UID == t.UID {
		s.bound = bound{acted: w.safety.contents.of(b.ActedHash()), form: formIn(b), version: named(b)}
	}
	if t.Claim.Held() {
		s.policy, s.id = t.Claim.Policy.ID(), t.Claim.ID
	}
	s.wait, s.as = w.safety.contents.of(t.Baseline.Hash()), w.foundAs(t)
	if b != nil && b.Annotations[propagation.AnnotationConsumedBaseline] == string(t.Baseline) {
		s.used = s.wait // it is over, as long as the binding says so
	}
	return s
}

func (w *world) checkReached(key propagation.TemplateKey, s state) {
	var allowed []string
	for r := range w.past.reach(key) {
		if r.normal() == s.normal() {
			return
		}
		allowed = append(allowed, r.normal().describe(w))
	}
	slices.Sort(allowed)
	w.fail("%s is %s; allowed:\n  %s", key, s.normal().describe(w), strings.Join(slices.Compact(allowed), "\n  "))
}

// checkSettled checks that nobody who looks at it would change anything.
func (w *world) checkSettled(key propagation.TemplateKey, s state) {
	m := w.past.at(w.past.last())
	t := s.knows(m.things[key.ID()])
	if t.uid == "" || !w.watches(key) && s.policy == "" && s.acted == "" { // then nobody has to look
		return
	}
	if next := claim(t, m.rules, m.gates, s.claimed, s.bound, ""); len(next) != 1 || next[0] != s.claimed {
		w.fail("%s is %s, and has to be claimed by %v", key, s.describe(w), next)
		return
	}
	holder, stands := holderOf(m.rules, t, s.claimed)
	if !stands {
		w.fail("the claim of %s does not stand: %s", key, s.describe(w))
		return
	}
	b := w.bindingOf(key)
	required := b != nil && len(b.Spec.RequiredBy) > 0
	if b != nil && holder != nil && !t.deleting && b.Annotations["sluice.dev/activate"] == requestFor(holder.Policy) {
		w.fail("somebody asked that %s acts on %s, and it does not", holder.Key, key)
	}
	next, pending := act(t, holder, m.gates, required, s.claimed, s.bound)
	if now := (state{s.claimed, next}); now.normal() != s.normal() {
		w.fail("%s is %s, and has to be %s", key, s.describe(w), now.describe(w))
	}
	w.checkExplained(key, s, pending)
	if b == nil {
		return
	}
	if shown := conditions.Is(b.Status.Conditions, "Active", metav1.ConditionFalse); shown != pending {
		w.fail("%s is %s; its condition Active says pending: %t, and it is: %t", key, s.describe(w), shown, pending)
	}
	if holder == nil {
		return
	}
	want := holder.Claim()
	if !propagation.ClaimMetadataMatches(want, b.Labels, b.Annotations) {
		w.fail("the binding of %s does not say that %s holds it", key, want.Policy)
	}
	for _, c := range clusters {
		all, names := b.Spec.Suspension.Dispatch()
		if is := all || slices.Contains(names, c); is != (suspends(holder.Spec.Suspension, c) || suspendedAlone(w.hub.Live(key), b, c)) {
			w.fail("%s suspends %s in %s: %t; its binding does: %t", want.Policy, key, c, !is, is)
		}
	}
}

func (s state) describe(w *world) string {
	parts := []string{"nobody's"}
	if s.policy != "" {
		parts = []string{"held by " + s.policy + " (" + s.id + ")"}
	}
	if s.wait != "" {
		parts = append(parts, "waits for a change of "+s.wait[:6])
	}
	if s.acted == "" {
		return strings.Join(append(parts, "nothing in force"), ", ")
	}
	return strings.Join(append(parts, "in force: content "+s.acted[:6]+" by {"+s.form+"} "+s.version), ", ")
}

// checkBindings checks the clusters, and who takes whom along.
func (w *world) checkBindings() {
	required := map[propagation.BindingKey][]*propagation.Binding{}
	for _, b := range w.hub.LiveBindings() {
		t := w.hub.Live(b.Template())
		switch {
		case b.Spec.Resource.UID != "" && (t == nil || t.UID != b.Spec.Resource.UID):
			w.fail("%s outlives its template", b.Key)
		case b.ActedHash() == "" && len(b.Spec.RequiredBy) == 0 && !b.Claim().Held(): // else it says why who holds its template waits
			w.fail("%s serves nobody", b.Key)
		}
		w.checkScheduled(b)
		for _, k := range w.refers(b) {
			d := w.bindingOf(k)
			if d == nil {
				w.fail("%s refers to %s, which has no binding", b.Key, k)
				continue
			}
			required[d.Key] = append(required[d.Key], b)
		}
	}
	for _, b := range w.hub.LiveBindings() {
		w.checkRequired(b, required[b.Key])
		w.checkTold(b)
	}
}

// refers is what a binding's content takes along.
func (w *world) refers(b *propagation.Binding) []propagation.TemplateKey {
	if !b.Spec.PropagateDeps || b.ActedHash() == "" || formIn(b) == "" {
		return nil
	}
	if !strings.Contains(fmt.Sprint(w.safety.contents.byHash[b.ActedHash()].object["spec"]), settings.Name) {
		return nil
	}
	key := settings
	key.Namespace = b.Template().Namespace
	return []propagation.TemplateKey{key}
}

func (w *world) revision(b *propagation.Binding) *propagation.Revision {
	for _, r := range w.hub.LiveRevisions() {
		if r.Name == b.Revision() && r.Binding == b.Key {
			return r
		}
	}
	return nil
}

func (w *world) checkRequired(b *propagation.Binding, by []*propagation.Binding) {
	have, want := map[string]string{}, map[string]string{}
	for _, r := range b.Spec.RequiredBy {
		var names []string
		for _, c := range r.Clusters {
			names = append(names, c.Name)
		}
		parent := propagation.BindingKey{Namespace: r.Namespace, Name: r.Name}
		have[parent.ID()] = strings.Join(names, "+")
	}
	must := map[string]bool{}
	for _, p := range by {
		want[p.Key.ID()] = strings.Join(w.takesTo(p), "+")
		for _, c := range w.goesTo(p) {
			must[c] = must[c] || p.SuspendedOn(c)
		}
	}
	// Where a parent is suspended, what it brought may stay when it goes.
	may := maps.Clone(must)
	for _, r := range b.Spec.RequiredBy {
		p := w.hub.LiveBinding(propagation.BindingKey{Namespace: r.Namespace, Name: r.Name})
		if key := (propagation.BindingKey{Namespace: r.Namespace, Name: r.Name}); p == nil {
			if w.outlived(key) { // it stays with what members have of its parent
				want[key.ID()] = have[key.ID()]
				for _, c := range clusters {
					may[c] = true
				}
			}
			continue // else that is found below
		}
		stays := len(r.Clusters) > 0
		for _, c := range clusters {
			may[c] = may[c] || p.SuspendedOn(c)
		}
		for _, c := range r.Clusters {
			stays = stays && p.SuspendedOn(c.Name)
		}
		if id := p.Key.ID(); stays && want[id] == "" {
			want[id] = have[id]
		}
	}
	if !maps.Equal(have, want) {
		w.fail("%s is taken along by %v, want %v", b.Key, have, want)
	}
	for _, c := range clusters {
		if is := slices.Contains(b.InheritedSuspensions(), c); is && !may[c] || !is && must[c] {
			w.fail("%s inherits suspensions on %v, must on %v, may on %v", b.Key, b.InheritedSuspensions(), must, may)
		}
	}
}

// takesTo are the clusters that the binding names to what it takes along: also those that
// left, as long as its placement cannot be satisfied and its clusters stay as they were.
func (w *world) takesTo(b *propagation.Binding) []string {
	names := w.goesTo(b)
	if formIn(b) != "" && w.stuck(b) {
		names = append(names, scheduledTo(b)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// outlived tells whether people deleted the binding, and Works of it are left.
func (w *world) outlived(key propagation.BindingKey) bool {
	return slices.ContainsFunc(w.hub.LiveWorks(), func(work *propagation.Work) bool {
		return work.Binding() == key && w.unbound(templateOf(work))
	})
}

// historyLimit is how many revisions a binding keeps.
const historyLimit = 3

// checkRevisions checks that no more is kept than that, but what was frozen at the same
// time: who does that makes room for its own only, and the next one for the rest.
func (w *world) checkRevisions() {
	count, most := map[propagation.BindingKey]int{}, historyLimit+w.climate.flights-1
	for _, r := range w.hub.LiveRevisions() {
		if count[r.Binding]++; count[r.Binding] > most {
			w.fail("%s has more than %d revisions", r.Binding, most)
		}
		if w.hub.LiveBinding(r.Binding) == nil {
			w.fail("revision %s outlives its binding", r.Name)
		}
	}
	for _, b := range w.hub.LiveBindings() {
		if b.ActedHash() == "" {
			continue
		}
		r := w.revision(b)
		genuine := r != nil && contentOf(r.Content) == w.safety.contents.of(b.ActedHash()) && of(r.Content, b.Template())
		if !genuine && !w.keptNoMore(b) {
			w.fail("%s has no revision of what is in force", b.Key)
		}
	}
}

// of tells whether an object is the one of that key.
func of(obj map[string]any, k propagation.TemplateKey) bool {
	meta, _ := obj["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	return groupOf(obj) == k.GroupVersionKind().Group && obj["kind"] == k.Kind && meta["name"] == k.Name && namespace == k.Namespace
}

// checkWorks checks that there are those that have to be, and no others.
func (w *world) checkWorks() {
	wanted := map[propagation.WorkKey]bool{}
	for _, b := range w.hub.LiveBindings() {
		if !inForce(b) {
			continue
		}
		for _, c := range w.goesTo(b) {
			work := w.workOf(b.Template(), c)
			if work != nil {
				wanted[work.Key] = true
			}
			if work != nil && work.Deleting && b.SuspendedOn(c) {
				continue // somebody deleted it: it ends when nothing holds it
			}
			if work == nil && w.keptNoMore(b) {
				continue // nothing can come of it
			}
			if work == nil || work.Deleting {
				w.fail("%s has no Work in %s", b.Key, c)
				continue
			}
			w.checkWork(work, b)
		}
	}
	for _, work := range w.hub.LiveWorks() {
		b := w.bindingOf(templateOf(work))
		if b != nil && w.stuck(b) && len(w.goesTo(b)) == 0 {
			continue // where it goes nobody can tell, so what was there stays
		}
		if !wanted[work.Key] && !w.unbound(templateOf(work)) && !w.comes(work) && (b == nil || !b.SuspendedOn(work.Key.Cluster)) {
			w.fail("%s has to be gone", work.Key)
		}
	}
}

func (w *world) checkWork(work *propagation.Work, b *propagation.Binding) {
	if work.Suspended() != b.SuspendedOn(work.Key.Cluster) {
		w.fail("%s is suspended: %t, its binding is: %t", work.Key, work.Suspended(), !work.Suspended())
	}
	content := pipelinetest.Manifest(work)
	if w.keptNoMore(b) {
		return // nothing can be made of what is in force: it stays as it is
	}
	if normal(content) != w.safety.contents.byHash[b.ActedHash()].normal {
		w.fail("%s is not made of what is in force", work.Key)
	}
	if says := saysOf(content); says != w.says(b, work.Key.Cluster) {
		w.fail("%s is overridden to say %q, want %q", work.Key, says, w.says(b, work.Key.Cluster))
	}
	if spec, ok := content["spec"].(map[string]any); ok && b.Template().Kind == "Deployment" && !reflect.DeepEqual(spec["replicas"], w.share(b, work.Key.Cluster)) {
		w.fail("%s has %v replicas, want %d", work.Key, spec["replicas"], w.share(b, work.Key.Cluster))
	}
}

// checkMember checks what a member has, and what its Works say about that.
func (w *world) checkMember(m *pipelinetest.Member) {
	works := map[string]*propagation.Work{}
	for _, work := range w.hub.LiveWorks() {
		if work.Key.Cluster == m.Name {
			works[templateOf(work).ID()] = work
		}
	}
	for _, o := range m.Objects() {
		if works[o.Ref.ID()] != nil {
			delete(w.orphans, place{m.Name, o.Ref.ID()})
			delete(w.stranded, place{m.Name, o.Ref.ID()})
		} else if o.Work != "" && !w.orphan(m.Name, o) {
			w.fail("%s has to be gone from %s", o.Ref, m.Name)
		}
	}
	for _, work := range works {
		o := m.Object(templateOf(work))
		is := func(condition string, status metav1.ConditionStatus) bool {
			return conditions.Is(work.Status.Conditions, condition, status)
		}
		switch {
		case work.Deleting:
		case work.Suspended():
			if !is(workv1alpha1.ConditionDispatching, metav1.ConditionFalse) {
				w.fail("%s does not say that it is held", work.Key)
			}
		case o != nil && o.Work == "":
			if !is(workv1alpha1.ConditionApplied, metav1.ConditionFalse) {
				w.fail("%s does not say that what it is for is not ours", work.Key)
			}
		case o == nil:
			w.fail("%s has to be in %s", templateOf(work), m.Name)
		case !reflect.DeepEqual(o.Content, pipelinetest.Manifest(work)) || len(o.Spoilt) > 0:
			w.fail("%s in %s is not what its Work says", o.Ref, m.Name)
		case !is(workv1alpha1.ConditionApplied, metav1.ConditionTrue):
			w.fail("%s does not say that it is applied", work.Key)
		}
	}
}

// checkRedis checks that the index says what the hub says.
func (w *world) checkRedis() {
	records := w.redis.HGetAll(w.ctx, schema.Templates).Val()
	for id, record := range records {
		_, rest, _ := strings.Cut(record, "\n")
		holder, _, _ := strings.Cut(rest, "\n")
		key := w.past.ever[id]
		t := w.hub.Live(key)
		switch {
		case t == nil:
			w.fail("Redis knows %s, which does not exist", id)
		case t.Claim.Held() && holder != t.Claim.Policy.ID() || !t.Claim.Held() && holder != "":
			w.fail("Redis says that %q holds %s, which says %q", holder, key, t.Claim.Policy.ID())
		}
	}
	for _, t := range w.hub.LiveTemplates() {
		if _, recorded := records[t.Key.ID()]; !recorded && (t.Claim.Held() && w.watches(t.Key) || w.selected(t.Key)) {
			w.fail("Redis does not know %s", t.Key)
		}
	}
	suspensions := w.redis.HGetAll(w.ctx, schema.PolicySuspensions).Val()
	for _, p := range w.hub.LivePolicies() {
		_, says, _ := strings.Cut(suspensions[p.Key.ID()], "\n")
		all, names := p.Spec.Suspension.Dispatch()
		if suspended := all || len(names) > 0; suspended != (says != "") {
			w.fail("%s is suspended: %t, its suspension in Redis is set: %t", p.Key, suspended, says != "")
		}
	}
}

// selected tells whether any policy selects objects of the kind. Of others Redis
// knows as long as it was not lost.
func (w *world) selected(k propagation.TemplateKey) bool {
	for _, p := range w.hub.LivePolicies() {
		for _, s := range p.Spec.ResourceSelectors {
			if s.Kind == k.Kind && (s.APIVersion == k.APIVersion || w.gears.serves(s.APIVersion)) {
				return true
			}
		}
	}
	return false
}
