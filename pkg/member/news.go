// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// Only the metadata of objects is asked for: news is a key.
const (
	metadataOnly  = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	metadataLists = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

const (
	// An API server sends a bookmark two seconds before it ends a watch, at which
	// all that came before has been told.
	newsSeconds = 4
	// newsGrace is for one that answers slowly.
	newsGrace = 6 * time.Second
	// newsBytes is how much of one kind is read in one go; who asks again reads on.
	newsBytes = 2 << 20
	// newsPage is how many objects are listed of a kind of which nothing is known.
	newsPage = 500
	// longestName is of a namespace and a name, which no API server lets be longer.
	longestName = 2 * 253
)

// News is what somebody else did to the objects of ours of a kind.
type News struct {
	// Changes are in their order.
	Changes []Change
	// Until is the version to ask from next time.
	Until string
	// Lost: nobody knows any more what happened, or it is too much to be listed.
	Lost bool
}

// News is what happened to the objects of ours of a kind since a version that a former
// call returned, but for what the hub wrote itself and nobody since. Where the version
// is empty it is all of them, unless they are very many. Where the member does not
// remember the version, or has not come to it, because it was restored, all is lost.
//
// It is one request, and takes a few seconds, for it waits until the API server says
// that there is no more; of a kind of which it says nothing it is asked for its version.
func (c *Client) News(ctx context.Context, gvk schema.GroupVersionKind, since, hub string) (News, error) {
	r, err := c.served(ctx, gvk)
	if err != nil {
		return News{}, err
	}
	of := newsOf{c.plain, r, gvk, hub}
	from := propagation.Version(since)
	if from == 0 {
		n, err := of.present(ctx, newsPage)
		return n, c.classify(ctx, err, gvk, "")
	}
	n, err := of.since(ctx, from)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		n, err = of.present(ctx, 1)
		n.Changes, n.Lost = nil, true
	}
	return n, c.classify(ctx, err, gvk, "")
}

// News is that of a cluster.
func (f *Fleet) News(ctx context.Context, cluster string, gvk schema.GroupVersionKind, since, hub string) (News, error) {
	c, err := f.Client(ctx, cluster)
	if err != nil {
		return News{}, err
	}
	return c.News(ctx, gvk, since, hub)
}

// newsOf asks for one kind.
type newsOf struct {
	client rest.Interface
	at     resource
	gvk    schema.GroupVersionKind // as it is asked for
	hub    string
}

func (o newsOf) request(accept string) *rest.Request {
	return o.client.Get().AbsPath(append(o.at.prefix(), o.at.Resource)...).SetHeader("Accept", accept).
		Param("labelSelector", propagation.LabelMemberWork)
}

// present are the objects that there are, if they are not more than that, and the
// present version.
func (o newsOf) present(ctx context.Context, limit int) (News, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, err := o.request(metadataLists).Param("limit", strconv.Itoa(limit)).DoRaw(ctx)
	if err != nil {
		return News{}, err
	}
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(raw, &list); err != nil {
		return News{}, fmt.Errorf("decode the list: %w", err)
	}
	n := News{Until: list.ResourceVersion, Lost: list.Continue != ""}
	for i := range list.Items {
		o.add(&n, &list.Items[i].ObjectMeta, false)
	}
	return n, nil
}

// since are the changes since a version.
func (o newsOf) since(ctx context.Context, from uint64) (News, error) {
	reading, cancel := context.WithTimeout(ctx, newsSeconds*time.Second+newsGrace)
	defer cancel()
	body, err := o.request(metadataOnly).
		Param("watch", "true").
		Param("allowWatchBookmarks", "true").
		Param("resourceVersion", strconv.FormatUint(from, 10)).
		Param("timeoutSeconds", strconv.Itoa(newsSeconds)).Stream(reading)
	if err != nil {
		return News{}, err
	}
	defer func() { _ = body.Close() }()
	n := News{}
	to, err := o.read(io.LimitReader(body, newsBytes), from, &n)
	if err == nil && to == from { // it said nothing: has it come there?
		var now News
		now, err = o.present(ctx, 1)
		to = min(from, propagation.Version(now.Until))
	}
	if err == nil && to < from {
		err = apierrors.NewResourceExpired(fmt.Sprintf("the member has come to version %d, and %d was known", to, from))
	}
	n.Until = strconv.FormatUint(to, 10)
	return n, err
}

// read reads to the first bookmark, or to the end: then the last change is where to go
// on. It returns the last version that was told.
func (o newsOf) read(body io.Reader, from uint64, n *News) (to uint64, err error) {
	to = from
	for d := json.NewDecoder(body); ; {
		var e struct {
			Type   watch.EventType `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		err := d.Decode(&e)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, context.DeadlineExceeded):
			return to, nil
		case err != nil:
			return to, fmt.Errorf("read the watch: %w", err)
		case e.Type == watch.Error:
			var status metav1.Status
			if err := json.Unmarshal(e.Object, &status); err != nil {
				return to, fmt.Errorf("decode the error: %w", err)
			}
			return to, apierrors.FromObject(&status)
		}
		var m metav1.PartialObjectMetadata
		if err := json.Unmarshal(e.Object, &m); err != nil {
			return to, fmt.Errorf("decode a change: %w", err)
		}
		if to = propagation.Version(m.ResourceVersion); e.Type == watch.Bookmark {
			return to, nil
		}
		o.add(n, &m.ObjectMeta, e.Type == watch.Deleted)
	}
}

// add notes what became of an object, if that was not the hub's own doing.
func (o newsOf) add(n *News, m *metav1.ObjectMeta, deleted bool) {
	own := !deleted && propagation.OwnWrite(m) && m.Annotations[applying.AnnotationHub] == o.hub
	if own || len(m.Namespace)+len(m.Name) > longestName {
		return
	}
	version, kind := o.gvk.ToAPIVersionAndKind()
	n.Changes = append(n.Changes, Change{
		Ref:  Ref{APIVersion: version, Kind: kind, Namespace: m.Namespace, Name: m.Name},
		Work: m.Labels[propagation.LabelMemberWork], Version: m.ResourceVersion, Deleted: deleted,
	})
}
