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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/source/discovery"
)

const (
	// metadataOnly asks for what says whose an object is, and nothing of what is in it.
	metadataOnly = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
	// insidePage is how many objects of a kind one answer has, insidePages how many
	// answers are asked for: whoever has more that nobody put there is not looked through.
	insidePage, insidePages = 200, 50
	// insideAtOnce are the kinds that are asked for at once.
	insideAtOnce = 4
)

// Inside is what a holder holds that the account does not account for, some of it where
// it is much. Where a part of it cannot be seen, nobody can tell: that is the answer, and
// no error.
func (c *Client) Inside(ctx context.Context, h applying.Holder, a applying.Account) (applying.Read[[]applying.Inhabitant], error) {
	found, err := c.inside(ctx, h, a)
	switch {
	case err == nil:
		return applying.Have(found), nil
	case ctx.Err() != nil, errors.Is(err, errBusy):
		return applying.Read[[]applying.Inhabitant]{}, err
	}
	return applying.Read[[]applying.Inhabitant]{Why: err.Error()}, nil
}

func (c *Client) inside(ctx context.Context, h applying.Holder, a applying.Account) ([]applying.Inhabitant, error) {
	rooms, err := c.rooms(ctx, h)
	if err != nil {
		return nil, err
	}
	found := make([][]applying.Inhabitant, len(rooms.all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(insideAtOnce)
	for i, r := range rooms.all {
		group.Go(func() (err error) {
			found[i], err = c.lookFor(ctx, h, a, rooms, r)
			return err
		})
	}
	err = group.Wait()
	return slices.Concat(found...), err
}

// rooms are the kinds of what a holder may hold.
type rooms struct {
	all []discovery.Resource
	// inNamespaces are all kinds whose objects are in namespaces.
	inNamespaces map[schema.GroupKind]bool
}

func (c *Client) rooms(ctx context.Context, h applying.Holder) (rooms, error) {
	r := rooms{inNamespaces: map[schema.GroupKind]bool{}}
	if h.Definition {
		if h.Kind.Version == "" || h.Plural == "" {
			return r, fmt.Errorf("%s serves no version of %s", c.name, h.Kind.GroupKind())
		}
		r.all = []discovery.Resource{{GroupVersionKind: h.Kind, Plural: h.Plural}}
		return r, nil
	}
	for _, path := range []string{"/api", "/apis"} {
		d, err := c.below(ctx, path)
		if err != nil {
			return r, err
		}
		if err := r.add(c.name, d); err != nil {
			return r, err
		}
	}
	slices.SortFunc(r.all, func(x, y discovery.Resource) int { return strings.Compare(x.String(), y.String()) })
	return r, nil
}

// add adds the kinds whose objects are in namespaces and go with them, each in the version
// that its group prefers.
func (r *rooms) add(cluster string, d discovered) error {
	for _, g := range d.Items {
		for _, v := range g.Versions {
			if v.Freshness == "Stale" {
				return fmt.Errorf("%s cannot tell what it serves of %s/%s", cluster, g.Metadata.Name, v.Version)
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
	return nil
}

// lookFor looks at the objects of one kind, until there are enough that count.
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
	return found, fmt.Errorf("%s has too many objects of %s", c.name, r.Kind)
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

// page is one answer about the objects of a kind.
func (c *Client) page(ctx context.Context, r discovery.Resource, namespace, next string) (*metav1.PartialObjectMetadataList, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req := c.plain.Get().AbsPath(r.Path(types.NamespacedName{Namespace: namespace})...).SetHeader("Accept", metadataOnly).Param("limit", strconv.Itoa(insidePage))
	if next != "" {
		req = req.Param("continue", next)
	}
	raw, err := req.DoRaw(ctx)
	if err = c.classify(ctx, err, r.GroupVersionKind, namespace); errors.Is(err, outcome.ErrGone) {
		err = &NotServed{c.name, r.GroupVersionKind}
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", r.Plural, err)
	}
	list := &metav1.PartialObjectMetadataList{}
	if err := json.Unmarshal(raw, list); err != nil {
		return nil, c.unreachable(fmt.Errorf("decode %s: %w", r.Plural, err))
	}
	return list, nil
}
