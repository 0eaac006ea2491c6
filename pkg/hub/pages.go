// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// ownCont starts where to go on in a list of what this process knows; the API
// server's own words for it have no colon.
const ownCont = "known:"

// listSome is a part of a list, sorted: at most q.limit objects (0: all), those
// after q.cont, and where to go on (empty: that was all). Where the API server has
// forgotten the list, or does not understand where to go on, the rest is as it is
// by now, or the list begins anew: an object may come twice, and none is left out.
func (k *kind[T]) listSome(ctx context.Context, q query) ([]T, string, error) {
	after, ours := strings.CutPrefix(q.cont, ownCont)
	if ours || q.cont == "" {
		if found, doubtful, known := k.store.Load().list(q.namespace); known {
			found, doubtful, cont := pageAfter(found, doubtful, after, q.limit)
			values, err := k.resolve(ctx, found, doubtful)
			return values, cont, err
		}
		q.cont = "" // where the watch has ended meanwhile: from the start
	}
	p, err := k.listPage(ctx, q)
	if q.cont != "" && (apierrors.IsResourceExpired(err) || apierrors.IsBadRequest(err)) {
		q.cont = goOn(err)
		p, err = k.listPage(ctx, q)
	}
	if err != nil {
		return nil, "", k.explain(err, "list "+k.Kind)
	}
	values, err := k.resolve(ctx, p.Objects, nil)
	return values, p.Continue, err
}

// pageAfter is the part of a list after the object named last, and where to go on.
func pageAfter[T any](found []*record[T], doubtful []types.NamespacedName, last string, limit int64) ([]*record[T], []types.NamespacedName, string) {
	names := slices.Clone(doubtful)
	for _, r := range found {
		names = append(names, r.name)
	}
	slices.SortFunc(names, compareNames)
	if namespace, name, ok := strings.Cut(last, "/"); ok {
		after := types.NamespacedName{Namespace: namespace, Name: name}
		names = names[sort.Search(len(names), func(i int) bool { return compareNames(names[i], after) > 0 }):]
	}
	cont := ""
	if limit > 0 && int64(len(names)) > limit {
		names = names[:limit]
		cont = ownCont + names[limit-1].Namespace + "/" + names[limit-1].Name
	}
	outside := func(n types.NamespacedName) bool {
		_, in := slices.BinarySearchFunc(names, n, compareNames)
		return !in
	}
	found = slices.DeleteFunc(found, func(r *record[T]) bool { return outside(r.name) })
	return found, slices.DeleteFunc(doubtful, outside), cont
}

// goOn is where the API server offers to go on after a list has expired; empty:
// from the start.
func goOn(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Continue
	}
	return ""
}
