// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"sluice.dev/pkg/core/propagation"
)

// Only the metadata of objects is asked for: what changed is a key.
const (
	metadataOnly  = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	metadataLists = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

const (
	// An API server sends a bookmark two seconds before it ends a watch, at which
	// all that came before has been told.
	changesSeconds = 4
	// changesGrace is for one that answers slowly.
	changesGrace = 6 * time.Second
)

// Written is a Change of which it is known who made it.
type Written struct {
	Change
	// Ours: the last write was this system's own, which has told of it.
	Ours bool
}

// Changes are what happened to the objects of a kind.
type Changes struct {
	// All of them, in their order, deletions too.
	All []Written
	// Until is the version to ask from next time.
	Until string
	// Listed: these are all objects that there are, as Updated, for nobody knows
	// any more what happened to them.
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
	if from := propagation.Version(since); from > 0 {
		c, err := h.changesFrom(ctx, r, selector, from)
		if !expired(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
			return c, explain(err, "watch "+gvk.Kind)
		}
	}
	c, err := h.everything(ctx, r, selector)
	return c, explain(err, "list "+gvk.Kind)
}

// Ours tells whether the object's last write was this system's own. One that is
// gone is nobody's.
func (h *Hub) Ours(ctx context.Context, key propagation.TemplateKey) (bool, error) {
	r, _, err := h.changing(key.GroupVersionKind())
	if err != nil {
		return false, ignoreAbsent(err)
	}
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	raw, err := do(ctx, h.client.Get().AbsPath(r.path(name)...).SetHeader("Accept", metadataOnly))
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
	r, err := h.catalog.find(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
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
	r, err := h.catalog.locate(gvk)
	return r.GroupVersion().WithResource(r.plural), err
}

// HasStatus tells whether the status of the kind's objects is written apart.
func (h *Hub) HasStatus(gvk schema.GroupVersionKind) bool {
	r, err := h.catalog.locate(gvk)
	return err == nil && r.status
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
	r, err := h.catalog.locate(gvk)
	return r, templatesOnly(r.GroupVersionKind), err
}

func (h *Hub) everything(ctx context.Context, r resource, selector string) (Changes, error) {
	all := Changes{Listed: true}
	for cont := ""; ; {
		req := h.client.Get().AbsPath(r.path(types.NamespacedName{})...).SetHeader("Accept", metadataLists).
			Param("limit", strconv.Itoa(pageSize))
		if selector != "" {
			req.Param("labelSelector", selector)
		}
		if cont != "" {
			req.Param("continue", cont)
		}
		raw, err := do(ctx, req)
		if expired(err) && cont != "" {
			all, cont = Changes{Listed: true}, ""
			continue
		}
		if err != nil {
			return Changes{}, err
		}
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal(raw, &list); err != nil {
			return Changes{}, err
		}
		for i := range list.Items {
			all.All = append(all.All, written(r, Updated, &list.Items[i].ObjectMeta))
		}
		all.Until = cmp.Or(all.Until, list.ResourceVersion)
		if cont = list.Continue; cont == "" {
			return all, nil
		}
	}
}

func (h *Hub) changesFrom(ctx context.Context, r resource, selector string, from uint64) (Changes, error) {
	ctx, cancel := context.WithTimeout(ctx, changesSeconds*time.Second+changesGrace)
	defer cancel()
	req := h.client.Get().AbsPath(r.path(types.NamespacedName{})...).SetHeader("Accept", metadataOnly).
		Param("watch", "true").
		Param("allowWatchBookmarks", "true").
		Param("resourceVersion", strconv.FormatUint(from, 10)).
		Param("timeoutSeconds", strconv.Itoa(changesSeconds))
	if selector != "" {
		req.Param("labelSelector", selector)
	}
	body, err := req.Stream(ctx)
	if err != nil {
		return Changes{}, err
	}
	defer func() { _ = body.Close() }()
	return readChanges(body, r, from)
}

var changeTypes = map[watch.EventType]ChangeType{watch.Added: Added, watch.Modified: Updated, watch.Deleted: Deleted}

// readChanges reads to the first bookmark, or to the end: then the last change
// is where to go on.
func readChanges(body io.Reader, r resource, from uint64) (Changes, error) {
	var c Changes
	last := from
	for d := json.NewDecoder(body); ; {
		var e struct {
			Type   watch.EventType `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		err := d.Decode(&e)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
		switch {
		case err != nil && !ended:
			return Changes{}, err
		case e.Type == watch.Error:
			return Changes{}, errorOf(e.Object)
		case err == nil:
			var o metav1.PartialObjectMetadata
			if err := json.Unmarshal(e.Object, &o); err != nil {
				return Changes{}, err
			}
			last = max(last, propagation.Version(o.ResourceVersion))
			if what, ok := changeTypes[e.Type]; ok {
				c.All = append(c.All, written(r, what, &o.ObjectMeta))
			}
		}
		if ended || e.Type == watch.Bookmark {
			c.Until = strconv.FormatUint(last, 10)
			return c, nil
		}
	}
}

func written(r resource, what ChangeType, m *metav1.ObjectMeta) Written {
	key := propagation.TemplateKey{APIVersion: r.GroupVersion().String(), Kind: r.Kind, Namespace: m.Namespace, Name: m.Name}
	return Written{Change: Change{Type: what, Key: key, Version: m.ResourceVersion}, Ours: what != Deleted && propagation.OwnWrite(m)}
}
