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

// Attach returns the dependency's binding with parent among those that require it; the
// binding itself where nothing changes. dependency is nil where there is no binding
// yet. Where the parent is suspended the dependency is suspended, too, even in a
// cluster that the parent is about to leave: the parent's object stays there during the
// suspension.
func Attach(template *propagation.Template, dependency, parent *propagation.Binding) *propagation.Binding {
	targets := parent.TargetClusters()
	next := &propagation.Binding{
		Key: propagation.BindingOf(template.Key), Labels: map[string]string{}, Annotations: map[string]string{},
		Spec: workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{
			APIVersion: template.Key.APIVersion, Kind: template.Key.Kind, Namespace: template.Key.Namespace, Name: template.Key.Name, UID: template.UID,
		}},
	}
	if dependency != nil {
		next = clone(dependency)
	}
	held := suspended(parent, append(brought(next, parent.Key), targets...))
	require(next, parent.Key, targets)
	inherit(next, parent.Key, held)
	return done(dependency, next)
}

// Keep is Attach where the parent's own Works stay as they are: the dependency stays where
// they are, too, which is wherever the parent took it so far.
func Keep(template *propagation.Template, dependency, parent *propagation.Binding) *propagation.Binding {
	if dependency == nil {
		return Attach(template, nil, parent)
	}
	staying := *parent
	staying.Spec.Clusters = slices.Clone(parent.Spec.Clusters)
	for _, name := range taken(dependency, parent.Key) {
		staying.Spec.Clusters = append(staying.Spec.Clusters, workv1alpha2.TargetCluster{Name: name})
	}
	return Attach(template, dependency, &staying)
}

// Release returns the dependency's binding when parent exists and no longer refers to
// it. Where the parent is suspended its former form still runs, so what that refers to
// stays until the suspension ends.
func Release(dependency, parent *propagation.Binding) *propagation.Binding {
	held := suspended(parent, brought(dependency, parent.Key))
	if len(held) == 0 {
		return Detach(dependency, parent.Key)
	}
	next := clone(dependency)
	require(next, parent.Key, held)
	inherit(next, parent.Key, held)
	return done(dependency, next)
}

// Detach returns the dependency's binding without parent; the binding itself where
// parent does not require it.
func Detach(dependency *propagation.Binding, parent propagation.BindingKey) *propagation.Binding {
	next := clone(dependency)
	next.Spec.RequiredBy = without(next.Spec.RequiredBy, parent)
	inherit(next, parent, nil)
	return done(dependency, next)
}

// Nowhere returns the binding without clusters if it is not Needed, and without a placement
// by which it would get some again; else the binding itself.
func Nowhere(b *propagation.Binding) *propagation.Binding {
	if Needed(b) || len(b.Spec.Clusters) == 0 && b.Spec.Placement == nil {
		return b
	}
	next := clone(b)
	next.Spec.Clusters, next.Spec.Placement = nil, nil
	return next
}

// Takes reports whether the dependency's binding says that parent, whose template refers to
// it, takes it to the cluster; or that parent does so no longer, and that what it took
// elsewhere stays there for a suspension.
func Takes(dependency *propagation.Binding, parent propagation.BindingKey, cluster string) bool {
	clusters := slices.Sorted(slices.Values(taken(dependency, parent)))
	held := dependency.Annotations[propagation.InheritedSuspension(parent)]
	return slices.Contains(clusters, cluster) || held != "" && held == strings.Join(clusters, ",")
}

// Requires reports whether the dependency's binding names parent.
func Requires(dependency *propagation.Binding, parent propagation.BindingKey) bool {
	return slices.ContainsFunc(dependency.Spec.RequiredBy, of(parent))
}

// Left reports whether nothing needs the binding any more: it is not Needed, and it does
// not tell either why the policy that holds its template has not taken effect yet.
func Left(b *propagation.Binding) bool {
	return !Needed(b) && (b.AwaitsTemplate() || !b.Claim().Held())
}

// Needed reports whether the binding says where its template has to be: a policy took
// effect on it, another template depends on it, or it is suspended, so that what it
// brought stays.
func Needed(b *propagation.Binding) bool {
	all, some := b.Spec.Suspension.Dispatch()
	return len(b.Spec.RequiredBy) > 0 || b.Annotations[propagation.AnnotationActivePolicy] != "" || all || len(some) > 0
}

// require writes that parent takes the dependency along to the clusters, without
// replicas: those are the parent's own.
func require(b *propagation.Binding, parent propagation.BindingKey, clusters []string) {
	entry := workv1alpha2.BindingSnapshot{Namespace: parent.Namespace, Name: parent.Name}
	for _, name := range clusters {
		entry.Clusters = append(entry.Clusters, workv1alpha2.TargetCluster{Name: name})
	}
	b.Spec.RequiredBy = append(without(b.Spec.RequiredBy, parent), entry)
	slices.SortFunc(b.Spec.RequiredBy, func(a, b workv1alpha2.BindingSnapshot) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// brought are the clusters to which parent took the dependency so far, as the
// dependency's binding says.
func brought(b *propagation.Binding, parent propagation.BindingKey) []string {
	out := taken(b, parent)
	if held := b.Annotations[propagation.InheritedSuspension(parent)]; held != "" {
		out = append(out, strings.Split(held, ",")...)
	}
	return out
}

// taken are the clusters of the entry that names parent; none where there is no entry.
func taken(b *propagation.Binding, parent propagation.BindingKey) (clusters []string) {
	if i := slices.IndexFunc(b.Spec.RequiredBy, of(parent)); i >= 0 {
		for _, c := range b.Spec.RequiredBy[i].Clusters {
			clusters = append(clusters, c.Name)
		}
	}
	return clusters
}

// suspended are those of the clusters on which parent is suspended, sorted.
func suspended(parent *propagation.Binding, clusters []string) []string {
	out := slices.DeleteFunc(slices.Clone(clusters), func(c string) bool { return !parent.SuspendedOn(c) })
	slices.Sort(out)
	return slices.Compact(out)
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
	return slices.DeleteFunc(slices.Clone(list), of(parent))
}

// of tells whether an entry is parent's.
func of(parent propagation.BindingKey) func(workv1alpha2.BindingSnapshot) bool {
	return func(s workv1alpha2.BindingSnapshot) bool {
		return s.Namespace == parent.Namespace && s.Name == parent.Name
	}
}

func clone(b *propagation.Binding) *propagation.Binding {
	next := *b
	next.Labels, next.Annotations = copied(b.Labels), copied(b.Annotations)
	return &next
}

func copied(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

// done returns next, with LabelLinked if it has parents or dependencies; old where
// nothing changed.
func done(old, next *propagation.Binding) *propagation.Binding {
	delete(next.Labels, propagation.LabelLinked)
	if len(next.Spec.RequiredBy) > 0 || next.Annotations[propagation.AnnotationDependencies] != "" {
		next.Labels[propagation.LabelLinked] = "true"
	}
	if old != nil && maps.Equal(old.Labels, next.Labels) && maps.Equal(old.Annotations, next.Annotations) &&
		equality.Semantic.DeepEqual(old.Spec, next.Spec) {
		return old
	}
	return next
}
