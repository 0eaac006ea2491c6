// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package propagation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
)

// Binding is a resource binding of either scope: the policy as it is in force for one template, and the clusters chosen.
type Binding struct {
	Key             BindingKey
	UID             types.UID
	ResourceVersion string
	Generation      int64
	Deleting        bool
	Labels          map[string]string
	Annotations     map[string]string
	Spec            workv1alpha2.ResourceBindingSpec
	Status          workv1alpha2.ResourceBindingStatus
}

// Template is the key of the binding's template.
func (b *Binding) Template() TemplateKey {
	r := b.Spec.Resource
	return TemplateKey{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// AwaitsTemplate tells whether others refer to the binding's template while there
// is none.
func (b *Binding) AwaitsTemplate() bool { return b.Spec.Resource.UID == "" }

// Claim is the claim as the binding records it.
func (b *Binding) Claim() Claim { return ClaimFrom(b.Labels, b.Annotations) }

// ActedHash is the hash of the content last acted on; empty: none yet.
func (b *Binding) ActedHash() string { return b.Annotations[AnnotationContentHash] }

// Revision is the name of the frozen content; empty: none yet.
func (b *Binding) Revision() string { return b.Annotations[AnnotationRevision] }

// TargetClusters are the names of all clusters that shall have the template,
// sorted: those that its own policy chose, and those of the templates that
// depend on it.
func (b *Binding) TargetClusters() []string {
	var names []string
	for _, c := range b.Spec.Clusters {
		names = append(names, c.Name)
	}
	for _, r := range b.Spec.RequiredBy {
		for _, c := range r.Clusters {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// SuspendedOn tells whether dispatching to the cluster is suspended: by the
// binding itself, or by one that depends on its template.
func (b *Binding) SuspendedOn(cluster string) bool {
	all, clusters := b.Spec.Suspension.Dispatch()
	return all || slices.Contains(clusters, cluster) || slices.Contains(b.InheritedSuspensions(), cluster)
}

// InheritedSuspensions are the clusters on which a template that depends on
// this one is suspended, sorted.
func (b *Binding) InheritedSuspensions() []string {
	var clusters []string
	for key, value := range b.Annotations {
		if strings.HasPrefix(key, inheritedSuspension) {
			clusters = append(clusters, strings.Split(value, ",")...)
		}
	}
	slices.Sort(clusters)
	return slices.Compact(clusters)
}

// Work is what one member gets, as it was read.
type Work struct {
	Key             WorkKey
	UID             types.UID
	ResourceVersion string
	Generation      int64
	Created         time.Time
	Deleting        bool
	Labels          map[string]string
	Annotations     map[string]string
	Finalizers      []string
	Spec            workv1alpha1.WorkSpec
	Status          workv1alpha1.WorkStatus
}

// Binding is the key of the Work's binding.
func (w *Work) Binding() BindingKey {
	if name := w.Annotations[AnnotationClusterBindingName]; name != "" {
		return BindingKey{Name: name}
	}
	return BindingKey{Namespace: w.Annotations[AnnotationBindingNamespace], Name: w.Annotations[AnnotationBindingName]}
}

// Suspended is the Work's own brake.
func (w *Work) Suspended() bool {
	return w.Spec.SuspendDispatching != nil && *w.Spec.SuspendDispatching
}

// Revision is frozen content: what the gate let through.
type Revision struct {
	Namespace string
	Name      string
	Binding   BindingKey
	Hash      string
	// Number grows by one with each revision of a binding.
	Number int64
	// Content is Content(template) at that time, as decoded JSON.
	Content map[string]any
}

// Template is the key of the Work's template, as its annotation says.
func (w *Work) Template() (TemplateKey, error) {
	var k TemplateKey
	if err := json.Unmarshal([]byte(w.Annotations[AnnotationTemplate]), &k); err != nil {
		return k, fmt.Errorf("annotation %s of %s: %w", AnnotationTemplate, w.Key, err)
	}
	if k.APIVersion == "" || k.Kind == "" || k.Name == "" {
		return k, fmt.Errorf("annotation %s of %s names no template", AnnotationTemplate, w.Key)
	}
	return k, nil
}
