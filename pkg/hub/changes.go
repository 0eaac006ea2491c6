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

// Changes are what happened to objects of a kind since a version that a former
// call returned, in their order, deletions too, and the version for the next
// call. Where the version is empty, or older than the API server remembers, they
// are all objects that there are, as Updated.
//
// It takes a few seconds, however much happened, for it waits until the API
// server says that there is no more.
func (h *Hub) Changes(ctx context.Context, gvk schema.GroupVersionKind, since string) ([]Written, string, error) {
	r, selector, err := h.changing(gvk)
	if err != nil {
		return nil, "", err
	}
	if from := propagation.Version(since); from > 0 {
		changes, until, err := h.changesFrom(ctx, r, selector, from)
		if !expired(err) {
			return changes, until, explain(err, "watch "+gvk.Kind)
		}
	}
	changes, until, err := h.everything(ctx, r, selector)
	return changes, until, explain(err, "list "+gvk.Kind)
}

// changing is where a kind is served, and which of its objects count.
func (h *Hub) changing(gvk schema.GroupVersionKind) (resource, string, error) {
	for _, r := range []resource{workKind, clusterKind} {
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
	r, err := h.catalog.find(gvk)
	return r, "!" + propagation.LabelBinding, err
}

func (h *Hub) everything(ctx context.Context, r resource, selector string) (changes []Written, until string, err error) {
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
			changes, until, cont = nil, "", ""
			continue
		}
		if err != nil {
			return nil, "", err
		}
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, "", err
		}
		for i := range list.Items {
			changes = append(changes, written(r, Updated, &list.Items[i].ObjectMeta))
		}
		until = cmp.Or(until, list.ResourceVersion)
		if cont = list.Continue; cont == "" {
			return changes, until, nil
		}
	}
}

func (h *Hub) changesFrom(ctx context.Context, r resource, selector string, from uint64) ([]Written, string, error) {
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
		return nil, "", err
	}
	defer func() { _ = body.Close() }()
	return readChanges(body, r, from)
}

// readChanges reads to the first bookmark, or to the end: then the last change
// is where to go on.
func readChanges(body io.Reader, r resource, from uint64) (changes []Written, until string, err error) {
	last := from
	for d := json.NewDecoder(body); ; {
		var e struct {
			Type   watch.EventType `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := d.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) {
				return changes, strconv.FormatUint(last, 10), nil
			}
			return nil, "", err
		}
		if e.Type == watch.Error {
			return nil, "", errorOf(e.Object)
		}
		var o metav1.PartialObjectMetadata
		if err := json.Unmarshal(e.Object, &o); err != nil {
			return nil, "", err
		}
		last = max(last, propagation.Version(o.ResourceVersion))
		switch e.Type {
		case watch.Bookmark:
			return changes, strconv.FormatUint(last, 10), nil
		case watch.Added:
			changes = append(changes, written(r, Added, &o.ObjectMeta))
		case watch.Modified:
			changes = append(changes, written(r, Updated, &o.ObjectMeta))
		case watch.Deleted:
			changes = append(changes, written(r, Deleted, &o.ObjectMeta))
		}
	}
}

func written(r resource, what ChangeType, m *metav1.ObjectMeta) Written {
	key := propagation.TemplateKey{APIVersion: r.GroupVersion().String(), Kind: r.Kind, Namespace: m.Namespace, Name: m.Name}
	return Written{Change: Change{Type: what, Key: key, Version: m.ResourceVersion}, Ours: what != Deleted && ours(m)}
}

// ours tells whether nobody else's write may be the last. Times are whole
// seconds: of two in one second either may be.
func ours(m *metav1.ObjectMeta) bool {
	var own, others time.Time
	for _, f := range m.ManagedFields {
		if f.Time == nil {
			continue
		}
		if f.Manager == propagation.FieldManager {
			own = later(own, f.Time.Time)
		} else {
			others = later(others, f.Time.Time)
		}
	}
	return own.After(others)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
