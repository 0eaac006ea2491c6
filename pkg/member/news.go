// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/source/watch"
)

const (
	// newsBytes is how much is read of one kind in one call; the next call continues
	// there.
	newsBytes = 2 << 20
	// newsPage is how many objects are listed of a kind without a known version.
	newsPage = 500
	// longestName is the maximum length of a namespace and a name together, as API
	// servers allow it.
	longestName = 2 * 253
)

// News lists what others did to Sluice's objects of a kind.
type News struct {
	// Changes in the order in which they happened.
	Changes []Change
	// Until is the version from which to continue.
	Until string
	// Lost: the changes are not known any more, or are too many to be listed.
	Lost bool
}

// News returns what happened to Sluice's objects of a kind since a version that an
// earlier call returned, except where the last write was the hub's own. With an empty
// version it returns all objects, unless they are very many. If the member does not
// have the version any more, or has not reached it because it was restored, the result
// is Lost.
//
// It takes one request and a few seconds, since it waits until the API server says that
// there are no more changes. If nothing changed, a second request asks for the version.
func (c *Client) News(ctx context.Context, gvk schema.GroupVersionKind, since, hub string) (News, error) {
	r, err := c.served(ctx, gvk)
	if err != nil {
		return News{}, err
	}
	of := newsOf{c.ours(r), gvk, hub}
	of.at.Bare, of.at.Timeout = true, requestTimeout
	if propagation.Version(since) == 0 {
		n, err := of.present(ctx, newsPage)
		return n, c.classify(ctx, err, gvk, "")
	}
	n, err := of.since(ctx, since)
	if watch.Forgotten(err) {
		n, err = of.present(ctx, 1)
		n.Changes, n.Lost = nil, true
	}
	return n, c.classify(ctx, err, gvk, "")
}

// News is Client.News for a cluster.
func (f *Fleet) News(ctx context.Context, cluster string, gvk schema.GroupVersionKind, since, hub string) (News, error) {
	c, err := f.Client(ctx, cluster)
	if err != nil {
		return News{}, err
	}
	return c.News(ctx, gvk, since, hub)
}

// newsOf reads the news of one kind.
type newsOf struct {
	at  watch.Objects
	gvk schema.GroupVersionKind // as requested
	hub string
}

// present returns the existing objects, if there are not more than limit, and the
// present version.
func (o newsOf) present(ctx context.Context, limit int64) (News, error) {
	list, err := watch.ListPage(ctx, o.at, limit, "", func(raw []byte) (m metav1.PartialObjectMetadata, err error) {
		return m, json.Unmarshal(raw, &m)
	})
	n := News{Until: list.Version, Lost: list.Continue != ""}
	for i := range list.Objects {
		o.add(&n, &list.Objects[i].ObjectMeta, false)
	}
	return n, err
}

// since returns the changes since a version.
func (o newsOf) since(ctx context.Context, since string) (News, error) {
	n := News{}
	until, err := o.at.Since(ctx, since, newsBytes, func(what apiwatch.EventType, m *metav1.ObjectMeta) {
		o.add(&n, m, what == apiwatch.Deleted)
	})
	from, to := propagation.Version(since), propagation.Version(until)
	if err == nil && to == from { // no change was sent: has the member reached that version?
		until, err = o.at.Version(ctx)
		to = min(from, propagation.Version(until))
	}
	if err == nil && to < from {
		err = apierrors.NewResourceExpired(fmt.Sprintf("the member has come to version %d, and %d was known", to, from))
	}
	n.Until = strconv.FormatUint(to, 10)
	return n, err
}

// add adds a change to n, unless the hub itself made it.
func (o newsOf) add(n *News, m *metav1.ObjectMeta, deleted bool) {
	if !deleted && applying.WrittenBy(m, o.hub) || len(m.Namespace)+len(m.Name) > longestName {
		return
	}
	version, kind := o.gvk.ToAPIVersionAndKind()
	n.Changes = append(n.Changes, Change{
		Ref:  Ref{APIVersion: version, Kind: kind, Namespace: m.Namespace, Name: m.Name},
		Work: m.Labels[propagation.LabelMemberWork], Version: m.ResourceVersion, Deleted: deleted,
	})
}
