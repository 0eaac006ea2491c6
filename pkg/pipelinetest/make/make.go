// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package make builds the nouns of tests, so that a row shows what matters and
// hides the rest:
//
//	make.Policy("p").Priority(5).Lazy().To("member1")
//
// Everything lives in the namespace "shop" and selects the Deployment nginx,
// unless said otherwise. It must not be imported by anything but tests.
package make

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

// Namespace that everything lives in.
const Namespace = "shop"

// Start is the time of everything that says no other.
var Start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// PolicyBuilder builds a policy. Each method returns a changed copy.
type PolicyBuilder struct{ p propagation.Policy }

// Policy is a namespaced policy that selects nginx.
func Policy(name string) PolicyBuilder { return ScopedPolicy(propagation.Namespaced, name) }

// ClusterPolicy is a cluster policy that selects nginx in every namespace.
func ClusterPolicy(name string) PolicyBuilder { return ScopedPolicy(propagation.Cluster, name) }

// ScopedPolicy is a policy of the scope, for tables over propagation.Scopes.
func ScopedPolicy(scope propagation.Scope, name string) PolicyBuilder {
	b := PolicyBuilder{propagation.Policy{
		Key: propagation.PolicyKey{Scope: scope, Name: name}, UID: types.UID("uid-" + name), ID: "id-" + name,
		ResourceVersion: "10", Generation: 1, Created: Start, LastUserWrite: Start,
	}}
	if scope == propagation.Namespaced {
		b.p.Key.Namespace = Namespace
	}
	return b.Selecting(policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Name: "nginx"})
}

// Selecting replaces the selectors.
func (b PolicyBuilder) Selecting(s ...policyv1alpha1.ResourceSelector) PolicyBuilder {
	b.p.Spec.ResourceSelectors = s
	return b
}

// Named selects nginx by name, and by namespace.
func (b PolicyBuilder) Named() PolicyBuilder {
	return b.Selecting(policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Namespace: Namespace, Name: "nginx"})
}

// Labelled selects Deployments by a label.
func (b PolicyBuilder) Labelled(key, value string) PolicyBuilder {
	return b.Selecting(policyv1alpha1.ResourceSelector{
		APIVersion: "apps/v1", Kind: "Deployment", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
	})
}

// Kind selects every Deployment.
func (b PolicyBuilder) Kind() PolicyBuilder {
	return b.Selecting(policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment"})
}

// Priority sets the explicit priority.
func (b PolicyBuilder) Priority(n int32) PolicyBuilder { b.p.Spec.Priority = &n; return b }

// Always sets preemption: Always.
func (b PolicyBuilder) Always() PolicyBuilder {
	b.p.Spec.Preemption = policyv1alpha1.PreemptAlways
	return b
}

// Lazy sets activationPreference: Lazy.
func (b PolicyBuilder) Lazy() PolicyBuilder {
	b.p.Spec.ActivationPreference = policyv1alpha1.LazyActivation
	return b
}

// To places on the clusters.
func (b PolicyBuilder) To(clusters ...string) PolicyBuilder {
	b.p.Spec.Placement = policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: clusters}}
	return b
}

// Dividing says how its replicas are divided.
func (b PolicyBuilder) Dividing(s policyv1alpha1.ReplicaSchedulingStrategy) PolicyBuilder {
	b.p.Spec.Placement.ReplicaScheduling = &s
	return b
}

// Generation sets the generation, as after that many changes of the spec.
func (b PolicyBuilder) Generation(n int64) PolicyBuilder { b.p.Generation = n; return b }

// At says when people last wrote it, in seconds after Start, and its version.
func (b PolicyBuilder) At(seconds int, version uint64) PolicyBuilder {
	b.p.LastUserWrite, b.p.ResourceVersion = Start.Add(time.Duration(seconds)*time.Second), fmt.Sprint(version)
	return b
}

// Deleting marks it as being deleted.
func (b PolicyBuilder) Deleting() PolicyBuilder { b.p.Deleting = true; return b }

// Suspending suspends the clusters; all of them if none is named.
func (b PolicyBuilder) Suspending(clusters ...string) PolicyBuilder {
	yes := true
	b.p.Spec.Suspension = &policyv1alpha1.Suspension{Dispatching: &yes}
	if len(clusters) > 0 {
		b.p.Spec.Suspension = &policyv1alpha1.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: clusters}}
	}
	return b
}

// Policy is what was built.
func (b PolicyBuilder) Policy() *propagation.Policy { p := b.p; return &p }

// TemplateBuilder builds a template. Each method returns a changed copy.
type TemplateBuilder struct {
	t           propagation.Template
	labels      map[string]any
	annotations map[string]any
	spec        map[string]any
	data        map[string]any
}

// Deployment is the Deployment of the name.
func Deployment(name string) TemplateBuilder {
	return TemplateBuilder{
		t: propagation.Template{
			Key: propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: Namespace, Name: name},
			UID: types.UID("uid-" + name), ResourceVersion: "20", Created: Start, LastUserWrite: Start,
		},
		spec: map[string]any{"replicas": int64(2)},
	}
}

// ClusterRole is a cluster-scoped template.
func ClusterRole(name string) TemplateBuilder {
	b := Deployment(name)
	b.t.Key = propagation.TemplateKey{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: name}
	b.spec = nil
	return b
}

// Secret is the Secret of the name.
func Secret(name string) TemplateBuilder {
	b := Deployment(name)
	b.t.Key = propagation.TemplateKey{APIVersion: "v1", Kind: "Secret", Namespace: Namespace, Name: name}
	b.spec = nil
	return b
}

// Holding puts a value into the data of a Secret or ConfigMap.
func (b TemplateBuilder) Holding(key, value string) TemplateBuilder {
	b.data = with(b.data, key, value)
	return b
}

// Annotation adds an annotation.
func (b TemplateBuilder) Annotation(key, value string) TemplateBuilder {
	b.annotations = with(b.annotations, key, value)
	return b
}

// Spec sets a field of the spec.
func (b TemplateBuilder) Spec(field string, value any) TemplateBuilder {
	b.spec = with(b.spec, field, value)
	return b
}

// Label adds a label.
func (b TemplateBuilder) Label(key, value string) TemplateBuilder {
	b.labels = with(b.labels, key, value)
	return b
}

// Replicas changes the spec.
func (b TemplateBuilder) Replicas(n int64) TemplateBuilder {
	b.spec = with(b.spec, "replicas", n)
	return b
}

// ClaimedBy puts the claim of the policy on the template.
func (b TemplateBuilder) ClaimedBy(p PolicyBuilder) TemplateBuilder {
	labels, annotations := p.Policy().Claim().Metadata()
	for k, v := range labels {
		if v != nil {
			b.labels = with(b.labels, k, *v)
		}
	}
	for k, v := range annotations {
		if v != nil {
			b.annotations = with(b.annotations, k, *v)
		}
	}
	return b
}

// Baseline puts the baseline of the template as built so far on it.
func (b TemplateBuilder) Baseline() TemplateBuilder {
	b.annotations = with(b.annotations, propagation.AnnotationBaseline, string(propagation.NewBaseline(b.Template())))
	return b
}

// At says when people last wrote it, in seconds after Start, and its version.
func (b TemplateBuilder) At(seconds int, version uint64) TemplateBuilder {
	b.t.LastUserWrite, b.t.ResourceVersion = Start.Add(time.Duration(seconds)*time.Second), fmt.Sprint(version)
	return b
}

// UID sets the uid, as of an object made anew.
func (b TemplateBuilder) UID(uid string) TemplateBuilder { b.t.UID = types.UID(uid); return b }

// Deleting marks it as being deleted.
func (b TemplateBuilder) Deleting() TemplateBuilder { b.t.Deleting = true; return b }

// Template is what was built.
func (b TemplateBuilder) Template() *propagation.Template {
	t := b.t
	meta := map[string]any{"name": t.Key.Name, "uid": string(t.UID), "resourceVersion": t.ResourceVersion}
	if t.Key.Namespace != "" {
		meta["namespace"] = t.Key.Namespace
	}
	if b.labels != nil {
		meta["labels"] = b.labels
	}
	if b.annotations != nil {
		meta["annotations"] = b.annotations
	}
	t.Object = map[string]any{"apiVersion": t.Key.APIVersion, "kind": t.Key.Kind, "metadata": meta}
	if b.spec != nil {
		t.Object["spec"] = b.spec
	}
	if b.data != nil {
		t.Object["data"] = b.data
	}
	t.Labels = map[string]string{}
	for k, v := range b.labels {
		t.Labels[k], _ = v.(string)
	}
	t.Hash = propagation.HashContent(t.Object)
	t.Claim = propagation.ClaimFrom(t.Labels, t.Annotations())
	t.Baseline = propagation.Baseline(t.Annotations()[propagation.AnnotationBaseline])
	return &t
}

func with(m map[string]any, key string, value any) map[string]any {
	out := map[string]any{key: value}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}
