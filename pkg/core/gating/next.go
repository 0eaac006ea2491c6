// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gating

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
)

// activated is the binding with the policy's snapshot and the template's
// content in force. Without a policy, as for a dependency, it is the content
// alone.
func (in Input) activated() *propagation.Binding {
	b := in.carried()
	if p := in.Policy; p != nil {
		b.NoteSpread(&p.Spec.Placement)
		snapshot(&p.Spec, &b.Spec)
		b.Spec.ReplicaRequirements = in.requirements(&b.Spec)
		b.Annotations[propagation.AnnotationActivePolicy] = p.Key.ID()
		b.Annotations[propagation.AnnotationActivePolicyID] = p.ID
		b.Annotations[propagation.AnnotationActiveGeneration] = strconv.FormatInt(p.Generation, 10)
		setOrDelete(b.Annotations, propagation.AnnotationConsumedBaseline, string(in.Template.Baseline))
		delete(b.Annotations, propagation.AnnotationActivate)
		if in.contentPending() || !inForce(p, in.Binding) {
			setOrDelete(b.Annotations, propagation.AnnotationActiveForm, in.formOf(p))
		}
	}
	return b
}

// requirements are what one replica of the content requests, where the placement divides
// replicas by the room for them. Nobody else asks for it: then it stays as it was.
func (in Input) requirements(b *workv1alpha2.ResourceBindingSpec) *workv1alpha2.ReplicaRequirements {
	if !propagation.ByRoom(b.Placement) {
		return b.ReplicaRequirements
	}
	requests, known := kinds.Requests(in.Template.Object)
	if !known || b.ReplicaRequirements == nil && len(requests) == 0 {
		return b.ReplicaRequirements
	}
	next := &workv1alpha2.ReplicaRequirements{}
	if b.ReplicaRequirements != nil {
		next = b.ReplicaRequirements.DeepCopy()
	}
	if next.ResourceRequest = nil; len(requests) > 0 {
		next.ResourceRequest = requests
	}
	return next
}

// carried is the binding with the template's content in force, and with the policy's
// snapshot unchanged.
func (in Input) carried() *propagation.Binding {
	b, t := in.deferred(), in.Template
	if in.contentPending() {
		b.Annotations[propagation.AnnotationWritten] = t.Written()
		if label := propagation.BindingIDLabel(b.Key); b.Labels[label] == "" {
			b.Labels[label] = propagation.NewPermanentID(b.Key, t.UID)
		}
	}
	// Content that stays in force keeps the name of its revision, even if an earlier
	// version of Sluice named it differently.
	if b.Revision() == "" || b.ActedHash() != t.Hash {
		b.Annotations[propagation.AnnotationRevision] = propagation.RevisionName(b.Key, t.Hash)
	}
	b.Annotations[propagation.AnnotationContentHash] = t.Hash
	b.Spec.Resource.UID, b.Spec.Resource.ResourceVersion = t.UID, t.ResourceVersion
	b.OwnedBy(t)
	if n, err := in.replicas(); err == nil { // on an error the last number stays
		b.Spec.Replicas = n
	}
	return b
}

// deferred is the present binding, or a new one without content, with what is never
// deferred brought up to date: the claim that it records, the suspension, whether the
// template is protected from deletion, and by whose rules it is bound.
func (in Input) deferred() *propagation.Binding {
	b := in.base()
	claim := propagation.Claim{}
	if in.Policy != nil {
		claim = in.Policy.Claim()
		all, clusters := in.Policy.Spec.Suspension.Dispatch()
		b.Spec.Suspension = suspension(all, clusters, b.Spec.Suspension)
	}
	b.Spec.Suspension = Suspend(b.Spec.Suspension, in.Template.SuspendedIn(), b.SuspendedIn())
	labels, annotations := claim.Metadata()
	merge(b.Labels, labels)
	merge(b.Annotations, annotations)
	protected := ""
	if propagation.Protected(in.Template.Labels) {
		protected = "true"
	}
	setOrDelete(b.Annotations, propagation.AnnotationDeletionProtected, protected)
	setOrDelete(b.Annotations, propagation.AnnotationInterpreter, in.kind().By())
	return b
}

// base is a copy of the binding whose maps may be changed; where there is none,
// a new one for the template.
func (in Input) base() *propagation.Binding {
	if in.Binding == nil {
		k := in.Template.Key
		annotations := map[string]string{}
		if suspended := in.Template.SuspendedIn(); suspended != "" { // each of the two annotations survives the loss of the other
			annotations[propagation.AnnotationSuspended] = suspended
		}
		b := &propagation.Binding{
			Key:         propagation.BindingOf(k),
			Labels:      map[string]string{},
			Annotations: annotations,
			Spec: workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{
				APIVersion: k.APIVersion, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, UID: in.Template.UID,
			}},
		}
		b.OwnedBy(in.Template)
		return b
	}
	b := *in.Binding
	b.Labels, b.Annotations = copied(b.Labels), copied(b.Annotations)
	delete(b.Labels, propagation.LabelAsked) // the request is noticed now
	in.name(&b)
	return &b
}

// name puts right, in place, what the binding says of whose it is, in case somebody edited
// that.
func (in Input) name(b *propagation.Binding) {
	t, r := in.Template, &b.Spec.Resource
	if !b.Names(t.Key) {
		r.APIVersion, r.Kind, r.Namespace, r.Name = t.Key.APIVersion, t.Key.Kind, t.Key.Namespace, t.Key.Name
	}
	r.APIVersion = in.edition(b)
	if b.TemplateUID() != t.UID {
		return // it awaits its template, or serves those that depend on the former one
	}
	r.UID = t.UID
	b.OwnedBy(t)
}

// snapshot copies into a binding what a policy says about propagation. It leaves out
// what decides about claims (selectors, priority, preemption), and the suspension,
// which is never deferred.
func snapshot(p *policyv1alpha1.PropagationSpec, b *workv1alpha2.ResourceBindingSpec) {
	b.PropagateDeps = p.PropagateDeps || p.Association
	b.Placement = p.Placement.DeepCopy()
	b.SchedulerName = p.SchedulerName
	b.Failover = p.Failover.DeepCopy()
	b.ConflictResolution = p.ConflictResolution
	b.PreserveResourcesOnDeletion = p.PreserveResourcesOnDeletion
}

// inForce tells whether the binding holds what the policy says.
func inForce(p *propagation.Policy, b *propagation.Binding) bool {
	shall := b.Spec
	snapshot(&p.Spec, &shall)
	return b.Annotations[propagation.AnnotationActivePolicyID] == p.ID &&
		b.Annotations[propagation.AnnotationActivePolicy] == p.Key.ID() && equality.Semantic.DeepEqual(b.Spec, shall)
}

// Suspend adds to a suspension what the annotations of a template and of its binding
// suspend of that one template.
func Suspend(s *workv1alpha2.Suspension, annotations ...string) *workv1alpha2.Suspension {
	if !slices.ContainsFunc(annotations, func(v string) bool { return v != "" }) {
		return s
	}
	all, clusters := s.Dispatch()
	clusters = slices.Clone(clusters)
	for _, v := range annotations {
		everywhere, here := propagation.ParseSuspended(v)
		all = all || everywhere
		for _, c := range here {
			if !slices.Contains(clusters, c) {
				clusters = append(clusters, c)
			}
		}
	}
	return suspension(all, clusters, s)
}

// suspension returns a suspension of all clusters, or of those named, in the wire
// format of the released API. It keeps from own, the binding's suspension, whether
// scheduling is suspended, which no policy sets.
func suspension(all bool, clusters []string, own *workv1alpha2.Suspension) *workv1alpha2.Suspension {
	out := &workv1alpha2.Suspension{}
	if own != nil {
		out.Scheduling = own.Scheduling
	}
	switch {
	case all:
		out.Dispatching = ptr.To(true)
	case len(clusters) > 0:
		out.DispatchingOnClusters = &policyv1alpha1.SuspendClusters{ClusterNames: clusters}
	case out.Scheduling == nil:
		return nil
	}
	return out
}

// equal tells whether two forms of a binding are the same to everybody who
// reads it.
func equal(a, b *propagation.Binding) bool {
	x, y := a.Spec, b.Spec
	x.Resource.ResourceVersion, y.Resource.ResourceVersion = "", ""
	return maps.Equal(a.Labels, b.Labels) && sameAnnotations(a.Annotations, b.Annotations) && a.Owner == b.Owner && equality.Semantic.DeepEqual(x, y)
}

// sameAnnotations compares without the generation: a policy that changed and
// changed back, or changed in its selectors alone, is in force as it is.
func sameAnnotations(a, b map[string]string) bool {
	keys := slices.Collect(maps.Keys(a))
	keys = slices.AppendSeq(keys, maps.Keys(b))
	for _, k := range keys {
		if a[k] != b[k] && k != propagation.AnnotationActiveGeneration {
			return false
		}
	}
	return true
}

func copied(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

func merge(m map[string]string, patch map[string]*string) {
	for k, v := range patch {
		if v == nil {
			delete(m, k)
		} else {
			m[k] = *v
		}
	}
}

func setOrDelete(m map[string]string, key, value string) {
	if value == "" {
		delete(m, key)
		return
	}
	m[key] = value
}
