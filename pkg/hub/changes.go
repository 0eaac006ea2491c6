// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/source/watch"
)

// Written is a Change of which it is known who made it.
type Written struct {
	Change
	// Ours: the last write was Sluice's own, whose stage has announced it.
	Ours bool
}

// Changes are what happened to the objects of a kind.
type Changes struct {
	// All of them, in their order, deletions too.
	All []Written
	// Until is the version to ask from next time.
	Until string
	// Listed: All has every object that exists, as Updated, because the API server does
	// not remember what changed.
	Listed bool
}

// Changes are what happened to objects of a kind since a version that a former
// call returned. Where the version is empty, or the API server does not remember
// it, they are all objects.
//
// It takes a few seconds, however much happened, for it waits until the API
// server says that there is no more.
func (h *Hub) Changes(ctx context.Context, gvk schema.GroupVersionKind, since string) (Changes, error) {
	r, selector, err := h.changing(gvk)
	if err != nil {
		return Changes{}, err
	}
	if propagation.Version(since) > 0 {
		c, err := h.changesFrom(ctx, r, selector, since)
		if !watch.Forgotten(err) {
			return c, explain(err, "watch "+gvk.Kind)
		}
	}
	c, err := h.everything(ctx, r, selector)
	return c, explain(err, "list "+gvk.Kind)
}

// Ours reports whether the object's last write was Sluice's own; false if the object is
// gone.
func (h *Hub) Ours(ctx context.Context, key propagation.TemplateKey) (bool, error) {
	r, _, err := h.changing(key.GroupVersionKind())
	if err != nil {
		return false, ignoreAbsent(err)
	}
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	raw, err := do(ctx, h.client.Get().AbsPath(r.Path(name)...).SetHeader("Accept", watch.MetadataOnly))
	if err != nil {
		return false, ignoreAbsent(explain(err, "get "+key.String()))
	}
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &o); err != nil {
		return false, err
	}
	return propagation.OwnWrite(&o.ObjectMeta), nil
}

// Namespaces are the names of the namespaces with these labels; an empty
// selector means all.
func (h *Hub) Namespaces(ctx context.Context, selector string) ([]string, error) {
	r, err := h.catalog.Find(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if err != nil {
		return nil, err
	}
	c, err := h.everything(ctx, r, selector)
	if err != nil {
		return nil, explain(err, "list Namespace")
	}
	names := make([]string, len(c.All))
	for i, n := range c.All {
		names[i] = n.Key.Name
	}
	return names, nil
}

// Resource is the name and version under which the hub serves a kind; outcome.ErrNotServed
// where it does not.
func (h *Hub) Resource(gvk schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	r, err := h.catalog.Locate(gvk)
	return r.GVR(), err
}

// HasStatus tells whether the status of the kind's objects is written apart.
func (h *Hub) HasStatus(gvk schema.GroupVersionKind) bool {
	r, err := h.catalog.Locate(gvk)
	return err == nil && r.Status
}

// changing is where a kind is served, and which of its objects count.
func (h *Hub) changing(gvk schema.GroupVersionKind) (resource, string, error) {
	for _, r := range append([]resource{workKinds[propagation.PolicyForm], workKinds[propagation.PlacementForm], clusterKind}, placingKinds...) {
		if r.GroupVersionKind == gvk {
			return r, "", nil
		}
	}
	for _, s := range propagation.Scopes {
		for _, kinds := range []map[propagation.Scope]resource{policyKinds, overrideKinds, bindingKinds} {
			if kinds[s].GroupVersionKind == gvk {
				return kinds[s], "", nil
			}
		}
	}
	r, err := h.catalog.Locate(gvk)
	return r, templatesOnly(r.GroupVersionKind), err
}

// objects are the metadata of those that are selected by labels.
func (h *Hub) objects(r resource, selector string) watch.Objects {
	return watch.Objects{Client: h.client, Path: r.Path(types.NamespacedName{}), Labels: selector, Bare: true}
}

func (h *Hub) everything(ctx context.Context, r resource, selector string) (Changes, error) {
	all, err := watch.List(ctx, h.objects(r, selector), pageSize, func(raw []byte) (Written, error) {
		var o metav1.PartialObjectMetadata
		err := json.Unmarshal(raw, &o)
		return written(r, Updated, &o.ObjectMeta), err
	})
	return Changes{All: all.Objects, Until: all.Version, Listed: true}, err
}

var changeTypes = map[apiwatch.EventType]ChangeType{apiwatch.Added: Added, apiwatch.Modified: Updated, apiwatch.Deleted: Deleted}

func (h *Hub) changesFrom(ctx context.Context, r resource, selector, from string) (Changes, error) {
	var c Changes
	last := propagation.Version(from)
	until, err := h.objects(r, selector).Since(ctx, from, 0, func(what apiwatch.EventType, m *metav1.ObjectMeta) {
		c.All = append(c.All, written(r, changeTypes[what], m))
		last = max(last, propagation.Version(m.ResourceVersion))
	})
	if err != nil {
		return Changes{}, err
	}
	c.Until = strconv.FormatUint(max(last, propagation.Version(until)), 10)
	return c, nil
}

func written(r resource, what ChangeType, m *metav1.ObjectMeta) Written {
	key := propagation.TemplateKey{APIVersion: r.GroupVersion().String(), Kind: r.Kind, Namespace: m.Namespace, Name: m.Name}
	return Written{Change: Change{Type: what, Key: key, Version: m.ResourceVersion}, Ours: what != Deleted && propagation.OwnWrite(m)}
}
