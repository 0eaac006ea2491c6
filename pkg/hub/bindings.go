// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/interned"
)

type bindingObject = object[workv1alpha2.ResourceBindingSpec, workv1alpha2.ResourceBindingStatus]

func decodeBinding(_ propagation.Scope, raw []byte) (record[*propagation.Binding], error) {
	o, err := decodeObject[workv1alpha2.ResourceBindingSpec, workv1alpha2.ResourceBindingStatus](raw)
	if err != nil {
		return record[*propagation.Binding]{}, err
	}
	r := recordOf(&o.ObjectMeta, &propagation.Binding{
		Key:             propagation.BindingKey{Namespace: o.Namespace, Name: o.Name},
		UID:             o.UID,
		ResourceVersion: o.ResourceVersion,
		Generation:      o.Generation,
		Created:         o.CreationTimestamp.Time,
		Deleting:        o.DeletionTimestamp != nil,
		Labels:          o.Labels,
		Annotations:     o.Annotations,
		Owner:           ownerOf(&o.ObjectMeta),
		Spec:            o.Spec,
		Status:          o.Status,
	})
	interned.Conditions(o.Status.Conditions)
	r.keys = linksOf(r.value)
	return r, nil
}

func (h *Hub) bindingKind(key propagation.BindingKey) (*kind[*propagation.Binding], types.NamespacedName) {
	return h.bindings[key.Scope()], types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
}

// Binding is the binding of that key.
func (h *Hub) Binding(ctx context.Context, key propagation.BindingKey) (*propagation.Binding, error) {
	k, name := h.bindingKind(key)
	return k.get(ctx, name)
}

// Bindings are all bindings of both scopes.
func (h *Hub) Bindings(ctx context.Context) ([]*propagation.Binding, error) {
	return h.bindings.all(ctx)
}

// ListBindings lists the bindings of a namespace, or those of all namespaces and of
// both scopes if it is empty: at most limit of them, from cont on. It returns the cont
// of the next page, empty on the last one. A cont that ListBindings did not return
// counts as empty. If the pages are read too slowly, a binding may be listed twice.
func (h *Hub) ListBindings(ctx context.Context, namespace string, limit int64, cont string) ([]*propagation.Binding, string, error) {
	scope, after := propagation.Namespaced, ""
	if name, rest, ok := strings.Cut(cont, ":"); ok && h.bindings[propagation.Scope(name)] != nil {
		scope, after = propagation.Scope(name), rest
	}
	page, next, err := h.bindings[scope].listSome(ctx, query{namespace: namespace, limit: limit, cont: after})
	switch {
	case err != nil:
		return nil, "", err
	case next != "":
		next = string(scope) + ":" + next
	case namespace == "" && scope == propagation.Namespaced:
		next = string(propagation.Cluster) + ":"
	}
	return page, next, nil
}

// linksOf returns the keys by which a binding is found that is linked with others.
func linksOf(b *propagation.Binding) (keys []string) {
	if b.Labels[propagation.LabelLinked] == "" {
		return nil
	}
	keys = append(keys, linkedIn(b.Key.Namespace))
	for _, to := range dependencies.Recorded(b) {
		keys = append(keys, referringTo(to))
	}
	for _, by := range b.Spec.RequiredBy {
		keys = append(keys, requiredBy(propagation.BindingKey{Namespace: by.Namespace, Name: by.Name}))
	}
	return keys
}

func linkedIn(namespace string) string                { return "in " + namespace }
func referringTo(key propagation.TemplateKey) string  { return "to " + key.ID() }
func requiredBy(parent propagation.BindingKey) string { return "by " + parent.ID() }

// BindingsReferringTo returns the bindings of templates that, as their bindings record,
// refer to this one. If bindings are watched, no others are looked at.
func (h *Hub) BindingsReferringTo(ctx context.Context, key propagation.TemplateKey) ([]*propagation.Binding, error) {
	linked, err := h.linked(ctx, key.Namespace, referringTo(key))
	return slices.DeleteFunc(linked, func(b *propagation.Binding) bool { return !dependencies.Refers(b, key) }), err
}

// BindingsRequiredBy returns the bindings that say that this one requires them. If
// bindings are watched, no others are looked at.
func (h *Hub) BindingsRequiredBy(ctx context.Context, parent propagation.BindingKey) ([]*propagation.Binding, error) {
	linked, err := h.linked(ctx, parent.Namespace, requiredBy(parent))
	return slices.DeleteFunc(linked, func(b *propagation.Binding) bool { return !dependencies.Requires(b, parent) }), err
}

// LinkedBindings returns the bindings in a namespace that have LabelLinked. If bindings
// are watched, no others are looked at.
func (h *Hub) LinkedBindings(ctx context.Context, namespace string) ([]*propagation.Binding, error) {
	return h.linked(ctx, namespace, linkedIn(namespace))
}

// linked are the linked bindings in a namespace that have the key; all, where they are not
// watched. What refers to something is always in the same namespace.
func (h *Hub) linked(ctx context.Context, namespace, key string) ([]*propagation.Binding, error) {
	return h.bindings[propagation.Namespaced].listBy(ctx, key, query{namespace: namespace, labels: propagation.LabelLinked, limit: pageSize})
}

// RemovingBindings returns the bindings of both scopes that have LabelRemoving. If
// bindings are watched, it returns all of them.
func (h *Hub) RemovingBindings(ctx context.Context) ([]*propagation.Binding, error) {
	var all []*propagation.Binding
	for _, scope := range propagation.Scopes {
		some, err := h.bindings[scope].listLike(ctx, query{labels: propagation.LabelRemoving, limit: pageSize})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// CommitBinding makes the labels, annotations and spec of the binding those of
// next, if it still is as old was read; that it is gone is a conflict, too. A nil old
// makes the binding, which its template then owns; outcome.ErrGone: there is no such
// namespace.
func (h *Hub) CommitBinding(ctx context.Context, old, next *propagation.Binding) (*propagation.Binding, error) {
	k, name := h.bindingKind(next.Key)
	if old == nil {
		return k.create(ctx, name, "", bindingObject{
			TypeMeta: k.TypeMeta(),
			ObjectMeta: metav1.ObjectMeta{
				Namespace: name.Namespace, Name: name.Name, Labels: next.Labels, Annotations: next.Annotations,
				OwnerReferences: h.templateOwner(next),
			},
			Spec: next.Spec,
		})
	}
	patch, err := patchOf(bindingPart(old), bindingPart(next))
	if err != nil {
		return nil, fmt.Errorf("patch %s: %w", next.Key, err)
	}
	if old.Owner != next.Owner || old.Spec.Resource.UID != next.Spec.Resource.UID {
		if patch == nil {
			patch = map[string]any{}
		}
		metadataOf(patch)["ownerReferences"] = h.templateOwner(next)
	}
	if patch == nil {
		return old, nil
	}
	b, err := k.patch(ctx, name, conditional(patch, old.UID, old.ResourceVersion))
	return b, conflictIfGone(err, "patch "+k.about(name))
}

// bindingPart is what CommitBinding writes of a binding, besides its owner.
func bindingPart(b *propagation.Binding) bindingObject {
	return bindingObject{
		ObjectMeta: metav1.ObjectMeta{Labels: b.Labels, Annotations: b.Annotations},
		Spec:       b.Spec,
	}
}

// templateOwner makes the template the owner of its binding, so that neither
// outlives the template's deletion while nothing of Sluice runs. The owner is named in
// the version that lasts longest: the hub's garbage collector, for as long as it has
// not noticed that a version is no longer served, takes what it cannot find there for
// gone.
func (h *Hub) templateOwner(b *propagation.Binding) []metav1.OwnerReference {
	r := b.Spec.Resource
	if r.UID == "" {
		return nil
	}
	yes := true
	return []metav1.OwnerReference{{
		APIVersion: h.catalog.Lasting(schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)), Kind: r.Kind,
		Name: r.Name, UID: r.UID, Controller: &yes, BlockOwnerDeletion: &yes,
	}}
}

// ownerOf returns the object that the metadata names as the controller; the zero value:
// none.
func ownerOf(m *metav1.ObjectMeta) (owner workv1alpha2.ObjectReference) {
	if c := metav1.GetControllerOfNoCopy(m); c != nil {
		owner = workv1alpha2.ObjectReference{APIVersion: c.APIVersion, Kind: c.Kind, Namespace: m.Namespace, Name: c.Name, UID: c.UID}
	}
	return owner
}

// CommitBindingStatus writes the status of the binding as it was read, as far as
// a status may be long. That it is gone is a conflict.
func (h *Hub) CommitBindingStatus(ctx context.Context, b *propagation.Binding, status workv1alpha2.ResourceBindingStatus) (*propagation.Binding, error) {
	status = reporting.BoundBinding(status)
	if equal, err := same(b.Status, status); err != nil || equal {
		return b, err
	}
	k, name := h.bindingKind(b.Key)
	b, err := k.put(ctx, name, object[struct{}, workv1alpha2.ResourceBindingStatus]{
		TypeMeta: k.TypeMeta(), ObjectMeta: identity(name, b.UID, b.ResourceVersion), Status: status,
	}, "status")
	return b, conflictIfGone(err, "update "+k.about(name))
}

// DeleteBinding deletes that very binding, if it still is as it was read. That it is
// gone already is fine.
func (h *Hub) DeleteBinding(ctx context.Context, b *propagation.Binding) error {
	k, name := h.bindingKind(b.Key)
	return k.deleteAt(ctx, name, b.UID, b.ResourceVersion)
}
