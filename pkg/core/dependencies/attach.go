// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package dependencies

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
)

// Attach is the dependency's binding with parent among those that require it.
// Dependency may be nil: there is none yet. It is the very dependency where
// nothing changes.
func Attach(template *propagation.Template, dependency, parent *propagation.Binding) *propagation.Binding {
	entry := workv1alpha2.BindingSnapshot{Namespace: parent.Key.Namespace, Name: parent.Key.Name, Clusters: clusters(parent)}
	next := &propagation.Binding{
		Key: propagation.BindingOf(template.Key), Labels: map[string]string{}, Annotations: map[string]string{},
		Spec: workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{
			APIVersion: template.Key.APIVersion, Kind: template.Key.Kind, Namespace: template.Key.Namespace, Name: template.Key.Name, UID: template.UID,
		}},
	}
	if dependency != nil {
		next = clone(dependency)
	}
	rest := without(next.Spec.RequiredBy, parent.Key)
	next.Spec.RequiredBy = append(rest, entry)
	slices.SortFunc(next.Spec.RequiredBy, func(a, b workv1alpha2.BindingSnapshot) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	inherit(next, parent.Key, suspendedOn(parent))
	return unlessSame(dependency, next)
}

// Detach is the dependency's binding without parent; the very dependency where
// parent never required it.
func Detach(dependency *propagation.Binding, parent propagation.BindingKey) *propagation.Binding {
	next := clone(dependency)
	next.Spec.RequiredBy = without(next.Spec.RequiredBy, parent)
	inherit(next, parent, nil)
	return unlessSame(dependency, next)
}

// Requires tells whether the dependency's binding names parent.
func Requires(dependency *propagation.Binding, parent propagation.BindingKey) bool {
	return slices.ContainsFunc(dependency.Spec.RequiredBy, func(s workv1alpha2.BindingSnapshot) bool {
		return s.Namespace == parent.Namespace && s.Name == parent.Name
	})
}

// Needed tells whether the binding serves anybody: a policy of its own, or a
// template that depends on it.
func Needed(b *propagation.Binding) bool {
	return len(b.Spec.RequiredBy) > 0 || b.Annotations[propagation.AnnotationActivePolicy] != ""
}

// clusters are the parent's, without replicas: those are the parent's own.
func clusters(parent *propagation.Binding) []workv1alpha2.TargetCluster {
	var out []workv1alpha2.TargetCluster
	for _, name := range parent.TargetClusters() {
		out = append(out, workv1alpha2.TargetCluster{Name: name})
	}
	return out
}

func suspendedOn(parent *propagation.Binding) []string {
	var out []string
	for _, name := range parent.TargetClusters() {
		if parent.SuspendedOn(name) {
			out = append(out, name)
		}
	}
	return out
}

// inherit writes which clusters the parent's suspension holds back: one
// annotation a parent.
func inherit(b *propagation.Binding, parent propagation.BindingKey, clusters []string) {
	key := propagation.InheritedSuspension(parent)
	if len(clusters) == 0 {
		delete(b.Annotations, key)
		return
	}
	b.Annotations[key] = strings.Join(clusters, ",")
}

func without(list []workv1alpha2.BindingSnapshot, parent propagation.BindingKey) []workv1alpha2.BindingSnapshot {
	return slices.DeleteFunc(slices.Clone(list), func(s workv1alpha2.BindingSnapshot) bool {
		return s.Namespace == parent.Namespace && s.Name == parent.Name
	})
}

func clone(b *propagation.Binding) *propagation.Binding {
	next := *b
	next.Annotations = maps.Clone(b.Annotations)
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	return &next
}

func unlessSame(old, next *propagation.Binding) *propagation.Binding {
	if old != nil && maps.Equal(old.Annotations, next.Annotations) && equality.Semantic.DeepEqual(old.Spec.RequiredBy, next.Spec.RequiredBy) {
		return old
	}
	return next
}
