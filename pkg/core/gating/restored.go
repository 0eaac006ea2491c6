// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gating

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// unknown is the generation of a form that nobody noted. No policy has it.
const unknown = 0

// maxForm is how many bytes of a policy's form are noted at most. A longer one is not:
// a lost binding is then made again as if its form were not known.
const maxForm = 16 << 10

// Form is what is in force of a policy, as AnnotationActiveForm holds it: which policy
// it is, and what of its spec acts (snapshot).
type Form struct {
	Policy     propagation.PolicyKey          `json:"policy"`
	ID         string                         `json:"id"`
	Generation int64                          `json:"generation"`
	Spec       policyv1alpha1.PropagationSpec `json:"spec"`
}

// waits reports whether changes of the policy wait for those of the template.
func (in Input) waits() bool { return in.Policy != nil && (in.Policy.Lazy() || in.Features.Static) }

// formOf returns what AnnotationActiveForm says while p is in force; empty where
// nothing is noted.
func (in Input) formOf(p *propagation.Policy) string {
	if !in.waits() {
		return ""
	}
	f := Form{Policy: p.Key, ID: p.ID, Generation: p.Generation}
	acting(&f.Spec, &p.Spec)
	raw, err := json.Marshal(f)
	if err != nil || len(raw) > maxForm {
		return "" // strings and numbers always encode
	}
	return string(raw)
}

// acting copies from one spec into another what snapshot takes of it.
func acting(to, from *policyv1alpha1.PropagationSpec) {
	to.PropagateDeps, to.Association = from.PropagateDeps, from.Association
	to.Placement, to.SchedulerName, to.Failover = from.Placement, from.SchedulerName, from.Failover
	to.ConflictResolution, to.PreserveResourcesOnDeletion = from.ConflictResolution, from.PreserveResourcesOnDeletion
}

// asNoted sets in a binding, in place, what the form noted on it says, in case somebody
// edited that.
func asNoted(b *propagation.Binding) *propagation.Binding {
	if f, ok := formFrom(b.Annotations); ok {
		snapshot(&f.Spec, &b.Spec)
	}
	return b
}

// formFrom returns the form that the annotations note; false: none.
func formFrom(annotations map[string]string) (f Form, ok bool) {
	err := json.Unmarshal([]byte(annotations[propagation.AnnotationActiveForm]), &f)
	return f, err == nil && !f.Policy.IsZero()
}

// NeedsWorks reports whether the gate cannot tell without the template's Works what is
// in force, or in which version the binding named the template.
func (in Input) NeedsWorks() bool { return in.forgotten() || in.misread() }

// misread reports whether the template was read in another version than its binding names:
// that is not served any more, or somebody edited it.
func (in Input) misread() bool {
	b := in.Binding
	return b != nil && !b.Deleting && b.Names(in.Template.Key) && b.Spec.Resource.APIVersion != in.readAs()
}

// readAs returns the version in which the template was read.
func (in Input) readAs() string { return propagation.KeyOf(in.Template.Object).APIVersion }

// edition returns the version in which the binding has to name its template: the one that
// its Works have from it, if that is served.
func (in Input) edition(b *propagation.Binding) string {
	as := in.Template.Key
	as.APIVersion = in.readAs()
	if in.misread() && slices.ContainsFunc(in.Works, func(w *propagation.Work) bool {
		says, err := w.Template()
		return err == nil && says == as && w.Binding() == b.Key
	}) {
		return as.APIVersion
	}
	return b.Spec.Resource.APIVersion
}

// forgotten reports whether no binding says what is in force, or not all of it, and the
// policy is one whose changes wait.
func (in Input) forgotten() bool {
	b := in.Binding
	if b != nil && (!b.Of(in.Template) || b.TemplateUID() != "" && b.TemplateUID() != in.Template.UID) {
		return false
	}
	return in.waits() && !in.Template.Deleting && (!in.acted() || in.edited())
}

// edited reports whether somebody may have edited which content is in force: the
// template's is another, and its name is not that of its revision. (That of an earlier
// version of Sluice was not either.)
func (in Input) edited() bool {
	b := in.Binding
	return in.contentPending() && b.Revision() != propagation.RevisionName(b.Key, b.ActedHash())
}

// restored returns the input with the binding as it was before somebody deleted it, or
// parts of what it said. That is known if the template holds what Works of it were made
// from: then its policy acted, and what was not in force then goes on waiting. Otherwise
// the input is returned as it is.
func (in Input) restored() Input {
	if !in.forgotten() {
		return in
	}
	key := propagation.BindingOf(in.Template.Key)
	own := slices.DeleteFunc(slices.Clone(in.Works), func(w *propagation.Work) bool {
		return !w.Places(key, in.Template.UID)
	})
	i := slices.IndexFunc(own, func(w *propagation.Work) bool {
		return w.Annotations[propagation.AnnotationRevision] == propagation.RevisionName(key, in.Template.Hash)
	})
	if i < 0 {
		return in
	}
	then := in
	then.Policy = in.policyOf(own[i], own)
	in.Binding = then.activated()
	return in
}

// policyOf returns the policy in the form that was in force when the Work was written.
// Where the Work does not say it, that is the present form held to the clusters and the
// replicas of the Works.
func (in Input) policyOf(w *propagation.Work, all []*propagation.Work) *propagation.Policy {
	p := *in.Policy
	if f, ok := formFrom(w.Annotations); ok {
		p.Key, p.ID, p.Generation = f.Policy, f.ID, f.Generation
		acting(&p.Spec, &f.Spec)
		return &p
	}
	if placed := in.asPlaced(all); !equality.Semantic.DeepEqual(placed, p.Spec.Placement) {
		p.Generation, p.Spec.Placement = unknown, placed
	}
	return &p
}

// asPlaced is a placement that leaves the template where its Works are, with the
// replicas that they have.
func (in Input) asPlaced(works []*propagation.Work) policyv1alpha1.Placement {
	var names []string
	var sum int32
	for _, w := range works {
		n, _ := w.Replicas()
		sum += n
		names = append(names, w.Key.Cluster)
	}
	slices.Sort(names)
	p := policyv1alpha1.Placement{
		ClusterAffinity:    &policyv1alpha1.ClusterAffinity{ClusterNames: names},
		ClusterTolerations: in.Policy.Spec.Placement.ClusterTolerations,
	}
	if wanted, err := in.replicas(); err == nil && len(works) > 1 && sum > 0 && sum == wanted {
		// Divided without static weights: replicas stay where they are.
		p.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted,
		}
	}
	return p
}
