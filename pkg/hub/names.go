// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// The types of Kubernetes events.
const (
	Normal  = corev1.EventTypeNormal
	Warning = corev1.EventTypeWarning
)

// FrozenKind is the kind of frozen content, which nobody waits for: a process that
// watches it reads it from what it knows.
func FrozenKind() schema.GroupVersionKind { return revisionKind.GroupVersionKind }

// OwnKinds are Sluice's own kinds but for frozen content: what a process that wants
// to be told of everything watches beside the templates.
func OwnKinds() []schema.GroupVersionKind {
	kinds := append(PlacingKinds(), clusterKind.GroupVersionKind)
	for _, f := range propagation.Forms {
		kinds = append(kinds, workKinds[f].GroupVersionKind)
	}
	for _, s := range propagation.Scopes {
		kinds = append(kinds, overrideKinds[s].GroupVersionKind, bindingKinds[s].GroupVersionKind)
	}
	return kinds
}

// PolicyKinds are the kinds of policies.
func PolicyKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, s := range propagation.Scopes {
		kinds = append(kinds, policyKinds[s].GroupVersionKind)
	}
	return kinds
}

// PolicyKeyOf is the key of the policy that an event names; false where it is
// no policy.
func PolicyKeyOf(k propagation.TemplateKey) (propagation.PolicyKey, bool) {
	for _, s := range propagation.Scopes {
		if k.GroupVersionKind() == policyKinds[s].GroupVersionKind {
			return propagation.PolicyKey{Scope: s, Namespace: k.Namespace, Name: k.Name}, true
		}
	}
	return propagation.PolicyKey{}, false
}

// OverrideKeyOf is the key of the override policy that an object's key names; false
// where it is none.
func OverrideKeyOf(k propagation.TemplateKey) (propagation.PolicyKey, bool) {
	for _, s := range propagation.Scopes {
		if k.GroupVersionKind() == overrideKinds[s].GroupVersionKind {
			return propagation.PolicyKey{Scope: s, Namespace: k.Namespace, Name: k.Name}, true
		}
	}
	return propagation.PolicyKey{}, false
}

// BindingKeyOf is the key of the binding that an event names; false where it is
// no binding.
func BindingKeyOf(k propagation.TemplateKey) (propagation.BindingKey, bool) {
	for _, s := range propagation.Scopes {
		if k.GroupVersionKind() == bindingKinds[s].GroupVersionKind {
			return propagation.BindingKey{Namespace: k.Namespace, Name: k.Name}, true
		}
	}
	return propagation.BindingKey{}, false
}

// WorkKeyOf is the key of the Work, of either form, that an event names; false
// where it is no member's Work.
func WorkKeyOf(k propagation.TemplateKey) (propagation.WorkKey, bool) {
	for _, f := range propagation.Forms {
		if k.GroupVersionKind() == workKinds[f].GroupVersionKind {
			cluster, ok := f.ClusterOf(k.Namespace)
			return propagation.WorkKey{Cluster: cluster, Name: k.Name, Form: f}, ok
		}
	}
	return propagation.WorkKey{}, false
}

// AboutPlacement names a placement for Record.
func AboutPlacement(p *placementv1.ClusterResourcePlacement) About {
	return About{APIVersion: placementKind.GroupVersion().String(), Kind: placementKind.Kind, Name: p.Name, UID: p.UID}
}

// AboutWork names a Work for Record.
func AboutWork(w *propagation.Work) About {
	gvk := workKinds[w.Key.Form].GroupVersionKind
	return About{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: w.Key.Namespace(), Name: w.Key.Name, UID: w.UID}
}

// ClusterOf is the name of the cluster that an event names; false where it is
// no cluster.
func ClusterOf(k propagation.TemplateKey) (string, bool) {
	return k.Name, k.GroupVersionKind() == clusterKind.GroupVersionKind
}

// AboutTemplate names a template for Record.
func AboutTemplate(t *propagation.Template) About {
	return About{APIVersion: t.Key.APIVersion, Kind: t.Key.Kind, Namespace: t.Key.Namespace, Name: t.Key.Name, UID: t.UID}
}

// AboutTemplateOf names a binding's template for Record.
func AboutTemplateOf(b *propagation.Binding) About {
	k := b.Template()
	return About{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, UID: b.TemplateUID()}
}

// AboutBinding names a binding for Record.
func AboutBinding(b *propagation.Binding) About {
	gvk := bindingKinds[b.Key.Scope()].GroupVersionKind
	return About{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: b.Key.Namespace, Name: b.Key.Name, UID: b.UID}
}

// AboutPolicy names a policy for Record.
func AboutPolicy(p *propagation.Policy) About {
	gvk := policyKinds[p.Key.Scope].GroupVersionKind
	return About{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: p.Key.Namespace, Name: p.Key.Name, UID: p.UID}
}

// AboutCluster names a cluster for Record.
func AboutCluster(c *clusterv1alpha1.Cluster) About {
	return About{APIVersion: clusterv1alpha1.SchemeGroupVersion.String(), Kind: clusterKind.Kind, Name: c.Name, UID: c.UID}
}

// EnsureNamespace makes a namespace where there is none. One that is on its way out
// has to be waited for.
func (h *Hub) EnsureNamespace(ctx context.Context, name string) error {
	key := propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: name}
	k, err := h.templateKind(key.GroupVersionKind())
	if err != nil {
		return err
	}
	t, err := k.get(ctx, types.NamespacedName{Name: name})
	if err == nil && t.Deleting {
		return outcome.After(leaving, fmt.Errorf("namespace %s is being deleted", name))
	}
	if !errors.Is(err, outcome.ErrGone) {
		return err
	}
	ns := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := k.create(ctx, types.NamespacedName{Name: name}, "", ns); err != nil && !outcome.IsConflict(err) {
		return fmt.Errorf("make namespace %s: %w", name, err)
	}
	return nil
}

// leaving is the delay before the next attempt while a namespace is being deleted.
const leaving = time.Second

// ClusterKind is the kind of clusters.
func ClusterKind() schema.GroupVersionKind { return clusterKind.GroupVersionKind }

// OverrideKinds are the kinds of override policies.
func OverrideKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, s := range propagation.Scopes {
		kinds = append(kinds, overrideKinds[s].GroupVersionKind)
	}
	return kinds
}
