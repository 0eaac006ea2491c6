// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/source/discovery"
)

const (
	// metadataOnly requests the metadata of objects only.
	metadataOnly = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
	// insidePage is how many objects of a kind one answer has, and insidePages how many
	// answers are requested. Beyond that, a kind is not searched any further.
	insidePage, insidePages = 200, 50
	// insideAtOnce is how many kinds are listed at the same time.
	insideAtOnce = 4
)

// Inside returns the objects in a holder that the account does not account for, or some
// of them if they are many. If a part cannot be listed, now or later, the answer is
// CannotTell with the objects that were found, and not an error.
func (c *Client) Inside(ctx context.Context, h applying.Holder, a applying.Account) (applying.Read[[]applying.Inhabitant], error) {
	rooms, err := c.rooms(ctx, h)
	if err != nil {
		return applying.Read[[]applying.Inhabitant]{}, err
	}
	found, hidden := make([][]applying.Inhabitant, len(rooms.all)), make([]*unseen, len(rooms.all))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(insideAtOnce)
	for i, r := range rooms.all {
		group.Go(func() (err error) {
			if found[i], err = c.lookFor(within, h, a, rooms, r); errors.As(err, &hidden[i]) {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return applying.Read[[]applying.Inhabitant]{}, err
	}
	all := applying.Have(slices.Concat(found...))
	if why := notShown(append(hidden, rooms.hidden...)); why != "" {
		all.Answer, all.Why = applying.CannotTell, c.name+" does not show all of it: "+why
	}
	return all, nil
}

// unseen says that a part of what a holder contains cannot be listed, and that trying
// again does not help.
type unseen struct{ what, why string }

// Error names the part.
func (e *unseen) Error() string { return e.what + " (" + e.why + ")" }

// mostNotShown is how many such parts are named.
const mostNotShown = 5

// notShown names the parts that cannot be listed, in a fixed order; empty: there are
// none.
func notShown(hidden []*unseen) string {
	var names []string
	for _, h := range hidden {
		if h != nil {
			names = append(names, conditions.Message(h.Error()))
		}
	}
	slices.Sort(names)
	if more := len(names) - mostNotShown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNotShown], ", "), more)
	}
	return strings.Join(names, ", ")
}

// asked returns the error of a request for a part of what a holder contains: *unseen if
// the member refuses to list it. If the credentials are not accepted, or the member
// cannot answer now, that is not known.
func (c *Client) asked(ctx context.Context, err error, gvk schema.GroupVersionKind, namespace, what string) error {
	switch {
	case apierrors.IsForbidden(err):
		return &unseen{what, "may not be listed"}
	case apierrors.IsMethodNotSupported(err), apierrors.IsNotAcceptable(err):
		return &unseen{what, "cannot be listed"}
	case apierrors.IsUnauthorized(err):
		return c.unreachable(err)
	}
	if err = c.classify(ctx, err, gvk, namespace); errors.Is(err, outcome.ErrGone) || errors.As(err, new(*NotServed)) {
		return &unseen{what, "is not served"}
	}
	return err
}

// rooms are the kinds whose objects a holder may contain.
type rooms struct {
	all []discovery.Resource
	// inNamespaces are all kinds whose objects are in namespaces.
	inNamespaces map[schema.GroupKind]bool
	// hidden are parts of the discovery that could not be read.
	hidden []*unseen
}

func (c *Client) rooms(ctx context.Context, h applying.Holder) (rooms, error) {
	r := rooms{inNamespaces: map[schema.GroupKind]bool{}}
	if h.Definition {
		if h.Kind.Version == "" || h.Plural == "" {
			r.hidden = append(r.hidden, &unseen{h.Kind.GroupKind().String(), "is not served"})
			return r, nil
		}
		r.all = []discovery.Resource{{GroupVersionKind: h.Kind, Plural: h.Plural}}
		return r, nil
	}
	for _, path := range []string{"/api", "/apis"} {
		d, err := c.kindsBelow(ctx, path)
		var hidden *unseen
		switch {
		case errors.As(err, &hidden):
			r.hidden = append(r.hidden, hidden)
		case err != nil:
			return r, err
		}
		r.add(d)
	}
	slices.SortFunc(r.all, func(x, y discovery.Resource) int { return strings.Compare(x.String(), y.String()) })
	return r, nil
}

// kindsBelow returns the kinds that are served below the path.
func (c *Client) kindsBelow(ctx context.Context, path string) (discovered, error) {
	raw, err := c.list(ctx, path)
	if err != nil {
		return discovered{}, c.asked(ctx, err, schema.GroupVersionKind{}, "", "kinds below "+path)
	}
	d, err := c.listed(path, raw)
	if err != nil && !errors.As(err, new(*Unreachable)) {
		return discovered{}, &unseen{"kinds below " + path, "cannot be listed at once"}
	}
	return d, err
}

// add adds the kinds whose objects are in namespaces and are deleted with them, each in
// the version that its group prefers.
func (r *rooms) add(d discovered) {
	for _, g := range d.Items {
		for _, v := range g.Versions {
			if v.Freshness == "Stale" {
				r.hidden = append(r.hidden, &unseen{"kinds of " + g.Metadata.Name + "/" + v.Version, "do not answer"})
			}
			for _, k := range v.Resources {
				if k.Scope != "Namespaced" || k.ResponseKind == nil {
					continue
				}
				gvk := schema.GroupVersionKind{Group: g.Metadata.Name, Version: v.Version, Kind: k.ResponseKind.Kind}
				if r.inNamespaces[gvk.GroupKind()] {
					continue
				}
				r.inNamespaces[gvk.GroupKind()] = true
				if applying.Lists(gvk.GroupKind()) && slices.Contains(k.Verbs, "list") && slices.Contains(k.Verbs, "delete") {
					r.all = append(r.all, discovery.Resource{GroupVersionKind: gvk, Plural: k.Resource, Namespaced: true})
				}
			}
		}
	}
}

// lookFor lists the objects of one kind, until there are enough that count.
func (c *Client) lookFor(ctx context.Context, h applying.Holder, a applying.Account, all rooms, r discovery.Resource) ([]applying.Inhabitant, error) {
	var found []applying.Inhabitant
	next := ""
	for range insidePages {
		list, err := c.page(ctx, r, h.Namespace, next)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			one := inhabitant(r, &list.Items[i], all)
			if a.Counts(h, one) {
				found = append(found, one)
			}
			if len(found) == applying.MostInside {
				return found, nil
			}
		}
		if next = list.Continue; next == "" {
			return found, nil
		}
	}
	return found, &unseen{r.GroupKind().String(), "are too many"}
}

func inhabitant(r discovery.Resource, m *metav1.PartialObjectMetadata, all rooms) applying.Inhabitant {
	return applying.Inhabitant{
		GroupKind: r.GroupKind(), Namespace: m.Namespace, Name: m.Name, UID: m.UID, Labels: m.Labels, Annotations: m.Annotations,
		Deleting: m.DeletionTimestamp != nil,
		Owned: slices.ContainsFunc(m.OwnerReferences, func(o metav1.OwnerReference) bool {
			return all.inNamespaces[schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()]
		}),
	}
}

// page requests one page of the list of a kind's objects.
func (c *Client) page(ctx context.Context, r discovery.Resource, namespace, next string) (*metav1.PartialObjectMetadataList, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req := c.plain.Get().AbsPath(r.Path(types.NamespacedName{Namespace: namespace})...).SetHeader("Accept", metadataOnly).Param("limit", strconv.Itoa(insidePage))
	if next != "" {
		req = req.Param("continue", next)
	}
	raw, err := req.DoRaw(ctx)
	if err != nil {
		return nil, c.asked(ctx, err, r.GroupVersionKind, namespace, r.GroupKind().String())
	}
	list := &metav1.PartialObjectMetadataList{}
	if err := json.Unmarshal(raw, list); err != nil {
		return nil, c.unreachable(fmt.Errorf("decode %s: %w", r.Plural, err))
	}
	return list, nil
}
