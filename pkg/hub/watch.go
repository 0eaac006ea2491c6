// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/source/watch"
)

// ChangeType says what happened to an object.
type ChangeType string

// The types of changes.
const (
	Added   ChangeType = "Added"
	Updated ChangeType = "Updated"
	Deleted ChangeType = "Deleted"
)

// Change is what a watch tells of one object. It is a hint: by the time that
// anybody acts on it, the object may be another.
type Change struct {
	Type    ChangeType
	Key     propagation.TemplateKey
	Version string
}

// watching is one watch of a kind.
type watching struct {
	stop context.CancelFunc
	// ready is closed when the initial list is in, or has failed with err.
	ready chan struct{}
	err   error
}

// start begins to watch, and returns when the initial list is in. Whoever comes
// second waits for the first; only the first's f is called.
func (k *kind[T]) start(ctx context.Context, f func(Change)) error {
	k.mu.Lock()
	w, first := k.watch, k.watch == nil
	if first {
		w = &watching{ready: make(chan struct{})}
		ctx, w.stop = context.WithCancel(ctx)
		k.watch = w
	}
	k.mu.Unlock()
	if !first {
		select {
		case <-w.ready:
			return w.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s := newStore[T]()
	k.store.Store(s)
	loop := k.loop(s)
	version, err := loop.List(ctx)
	err = k.explain(err, "list "+k.Kind)
	w.err = err
	if err != nil {
		k.end(w, s)
	} else {
		go k.announce(ctx, s, f)
		go func() {
			defer k.end(w, s)
			loop.Follow(ctx, version)
		}()
	}
	close(w.ready)
	return err
}

// stop ends the watch of the kind; reads are live again.
func (k *kind[T]) stop() {
	k.mu.Lock()
	w := k.watch
	k.mu.Unlock()
	if w != nil {
		k.end(w, k.store.Load())
	}
}

func (k *kind[T]) end(w *watching, s *store[T]) {
	w.stop()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.watch == w {
		k.watch = nil
		k.store.CompareAndSwap(s, nil)
	}
}

// announce calls f for all news, one after the other.
func (k *kind[T]) announce(ctx context.Context, s *store[T], f func(Change)) {
	for {
		for _, n := range s.take() {
			if ctx.Err() != nil {
				return
			}
			if f != nil {
				f(k.change(n))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
	}
}

func (k *kind[T]) change(n news) Change {
	key := propagation.TemplateKey{
		APIVersion: k.GroupVersion().String(), Kind: k.Kind, Namespace: n.name.Namespace, Name: n.name.Name,
	}
	return Change{Type: n.what, Key: key, Version: strconv.FormatUint(n.version, 10)}
}

// loop keeps the store up to date.
func (k *kind[T]) loop(s *store[T]) *watch.Loop[*record[T]] {
	return &watch.Loop[*record[T]]{
		Objects:  k.objects(query{}),
		PageSize: pageSize,
		Decode:   k.record,
		Replace:  func(all []*record[T], version string) { s.replace(all, propagation.Version(version)) },
		Progress: func(version string) { s.progress(propagation.Version(version)) },
		Known:    s.newest,
		Back:     s.setBack,
		Tell: func(r *record[T], deleted bool) string {
			s.observe(r, deleted)
			return strconv.FormatUint(r.version, 10)
		},
		Ended: func() { s.setClosed(true) },
		Reached: func(err error) {
			defer s.setClosed(false)
			switch {
			case !unserved(err):
				s.setBroken(err != nil) // without a watch, reads are live
			case k.lost != nil:
				k.lost()
			}
		},
		Anew: away,
	}
}

// away reports whether the hub did not answer, or is starting. It may be being restored
// from a backup, and its versions may have grown past all known ones by the time that
// it answers again: so everything is listed.
func away(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) || answer.Status().Code >= http.StatusInternalServerError
}
