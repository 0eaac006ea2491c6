// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redact"
	"sluice.dev/pkg/source/discovery"
	"sluice.dev/pkg/source/watch"
)

// pageSize is the number of objects that one request lists at most.
const pageSize = watch.PageSize

// resource is where the API serves a kind.
type resource = discovery.Resource

// kind is one kind of objects: where they are served, what they are here, and,
// where this process watches them, what it knows.
type kind[T any] struct {
	resource
	client api
	// selector narrows lists and watches by label; empty: all objects.
	selector string
	// bare says that nothing but metadata is asked for.
	bare bool
	// decode makes a record from JSON. Items of lists lack apiVersion and kind.
	decode func(raw []byte) (record[T], error)
	// lost is called when the kind is no longer served there; nil for Sluice's own kinds,
	// which are expected to be served again.
	lost func()

	// seen is the newest version that this process wrote or listed; 0 where a write has
	// lost a race since, so that the next list is live.
	seen  atomic.Uint64
	store atomic.Pointer[store[T]]
	reads sharing[*record[T]]
	lists sharing[[]T] // of whole namespaces
	mu    sync.Mutex
	watch *watching // nil: not watched
}

// about is what a message calls an object of this kind.
func (k *kind[T]) about(name types.NamespacedName) string {
	return k.Kind + " " + strings.TrimPrefix(name.String(), "/")
}

// explain turns the API server's answer into an outcome. After an answer that the kind
// is not served, the next request asks discovery again.
func (k *kind[T]) explain(err error, tried string) error {
	if k.lost != nil && unserved(err) && !apierrors.IsMethodNotSupported(err) {
		k.lost()
	}
	if k.GroupVersionKind == secretKind.GroupVersionKind && !refusedByEtcd(err) {
		err = redact.Error(err)
	}
	return explain(err, tried)
}

// told returns the store, once it is known what follows a watch that has just ended; nil:
// the kind is not watched.
func (k *kind[T]) told(ctx context.Context) *store[T] {
	s := k.store.Load()
	s.settle(ctx)
	return s
}

// get is the object of that name.
func (k *kind[T]) get(ctx context.Context, name types.NamespacedName) (T, error) {
	value, found, known := k.told(ctx).get(name)
	if !known {
		r, err := k.getLive(ctx, name)
		if err != nil {
			return value, err
		}
		return r.value, nil
	}
	if !found {
		return value, fmt.Errorf("get %s: %w", k.about(name), outcome.ErrGone)
	}
	return value, nil
}

// getLive reads the object from the API server, now.
func (k *kind[T]) getLive(ctx context.Context, name types.NamespacedName) (*record[T], error) {
	return k.reads.get(ctx, name, func() (*record[T], error) { return k.read(ctx, name) })
}

func (k *kind[T]) read(ctx context.Context, name types.NamespacedName) (*record[T], error) {
	s := k.store.Load()
	raw, err := do(ctx, k.client.Get().AbsPath(k.Path(name)...))
	if missing(err) {
		s.missed(name)
	}
	if err != nil {
		return nil, k.explain(err, "get "+k.about(name))
	}
	r, err := k.decode(raw)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", k.about(name), err)
	}
	s.read(&r)
	return &r, nil
}

// list is all objects of a namespace, or of all for the empty one, sorted. Where the kind
// is not watched, those who ask at the same time share a list that begins after each of
// them: every event about a member's object asks which placements have it.
func (k *kind[T]) list(ctx context.Context, namespace string) ([]T, error) {
	q := query{namespace: namespace, limit: pageSize}
	if found, doubtful, known := k.told(ctx).list(namespace); known {
		return k.resolve(ctx, found, doubtful)
	}
	all, err := k.lists.get(ctx, types.NamespacedName{Namespace: namespace}, func() ([]T, error) { return k.listLive(ctx, q) })
	return slices.Clone(all), err
}

// listLike returns what q selects, sorted. If the kind is watched, it returns all
// objects of q's namespace.
func (k *kind[T]) listLike(ctx context.Context, q query) ([]T, error) {
	found, doubtful, known := k.told(ctx).list(q.namespace)
	if !known {
		return k.listLive(ctx, q)
	}
	return k.resolve(ctx, found, doubtful)
}

// listBy is all objects with a key of the store, sorted. Where the store does not know,
// q says how to ask for them.
func (k *kind[T]) listBy(ctx context.Context, key string, q query) ([]T, error) {
	found, doubtful, known := k.told(ctx).listBy(key)
	if !known {
		return k.listLive(ctx, q)
	}
	return k.resolve(ctx, found, doubtful)
}

// resolve asks for what is doubtful, and sorts.
func (k *kind[T]) resolve(ctx context.Context, found []*record[T], doubtful []types.NamespacedName) ([]T, error) {
	for _, name := range doubtful {
		r, err := k.getLive(ctx, name)
		if errors.Is(err, outcome.ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	slices.SortFunc(found, func(a, b *record[T]) int { return compareNames(a.name, b.name) })
	values := make([]T, len(found))
	for i, r := range found {
		values[i] = r.value
	}
	return values, nil
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// query says what to list.
type query struct {
	namespace string
	labels    string
	fields    string
	limit     int64
	cont      string
	// since, if not 0, is a version (kind.seen) that the list has at least to be of, for
	// callers that need not see what others wrote this moment. The API server then answers
	// from its cache at once. For a live list it first makes sure that the cache is
	// current, which may take a tenth of a second.
	since uint64
}

// objects are those that q asks for.
func (k *kind[T]) objects(q query) watch.Objects {
	o := watch.Objects{
		Client: k.client, Path: k.Path(types.NamespacedName{Namespace: q.namespace}),
		Labels: cmp.Or(q.labels, k.selector), Fields: q.fields, Bare: k.bare,
	}
	if q.since > 0 {
		o.NotOlderThan = strconv.FormatUint(q.since, 10)
	}
	return o
}

// record is what JSON says of an object.
func (k *kind[T]) record(raw []byte) (*record[T], error) {
	r, err := k.decode(raw)
	return &r, err
}

// shown is record for a list that this process acts upon: the store takes what it shows.
func (k *kind[T]) shown() func(raw []byte) (*record[T], error) {
	s := k.store.Load()
	return func(raw []byte) (*record[T], error) {
		r, err := k.record(raw)
		if err == nil {
			s.show(r)
		}
		return r, err
	}
}

// listLive is all that q asks for, sorted.
func (k *kind[T]) listLive(ctx context.Context, q query) ([]T, error) {
	all, err := watch.List(ctx, k.objects(q), q.limit, k.shown())
	if q.since > 0 && watch.Forgotten(err) { // the hub was restored from a backup
		k.seen.CompareAndSwap(q.since, 0)
		q.since = 0
		return k.listLive(ctx, q)
	}
	if err != nil {
		return nil, k.explain(err, "list "+k.Kind)
	}
	k.see(propagation.Version(all.Version))
	return k.resolve(ctx, all.Objects, nil)
}

// see remembers a version, if it is the newest.
func (k *kind[T]) see(version uint64) {
	for old := k.seen.Load(); version > old; old = k.seen.Load() {
		if k.seen.CompareAndSwap(old, version) {
			return
		}
	}
}

func (k *kind[T]) listPage(ctx context.Context, q query) (watch.Page[*record[T]], error) {
	return watch.ListPage(ctx, k.objects(q), q.limit, q.cont, k.shown())
}

// do makes a request, and returns the body of the answer.
func do(ctx context.Context, req *rest.Request) ([]byte, error) {
	res := req.Do(ctx)
	if err := res.Error(); err != nil {
		return nil, err
	}
	return res.Raw()
}
