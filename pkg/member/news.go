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
	at  watch.Objects
	gvk schema.GroupVersionKind // as it is asked for
	hub string
}

// present are the objects that there are, if they are not more than that, and the
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

// since are the changes since a version.
func (o newsOf) since(ctx context.Context, since string) (News, error) {
	n := News{}
	until, err := o.at.Since(ctx, since, newsBytes, func(what apiwatch.EventType, m *metav1.ObjectMeta) {
		o.add(&n, m, what == apiwatch.Deleted)
	})
	from, to := propagation.Version(since), propagation.Version(until)
	if err == nil && to == from { // it said nothing: has it come there?
		until, err = o.at.Version(ctx)
		to = min(from, propagation.Version(until))
	}
	if err == nil && to < from {
		err = apierrors.NewResourceExpired(fmt.Sprintf("the member has come to version %d, and %d was known", to, from))
	}
	n.Until = strconv.FormatUint(to, 10)
	return n, err
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
