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

// ownCont begins the continue tokens of lists from this process's store. The API
// server's own tokens have no colon.
const ownCont = "known:"

// listSome returns a page of a list, sorted: at most q.limit objects (0: all) from
// q.cont on, and the token of the next page (empty: that was all). If the API server no
// longer accepts q.cont, the page is of a newer list, or the list starts again: an
// object may come twice, and none is left out.
func (k *kind[T]) listSome(ctx context.Context, q query) ([]T, string, error) {
	after, ours := strings.CutPrefix(q.cont, ownCont)
	if ours || q.cont == "" {
		if found, doubtful, known := k.told(ctx).list(q.namespace); known {
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

// goOn returns the continue token that the API server offers when a list has expired;
// empty: start again.
func goOn(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Continue
	}
	return ""
}
