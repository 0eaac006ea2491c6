// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"sluice.dev/pkg/core/propagation"
)

const (
	// A watch is opened anew after this many seconds, and up to twice as many.
	watchSeconds = 300
	// The pause before a broken watch is opened again doubles from firstPause
	// to longestPause, until one lasts for steady or tells anything.
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
	steady       = 5 * time.Second
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
	version, err := k.relist(ctx, s)
	w.err = err
	if err != nil {
		k.end(w, s)
	} else {
		go k.announce(ctx, s, f)
		go func() {
			defer k.end(w, s)
			k.follow(ctx, s, version)
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

func (k *kind[T]) relist(ctx context.Context, s *store[T]) (uint64, error) {
	known := s.newest()
	all, err := k.listPages(ctx, query{limit: pageSize})
	if err != nil {
		return 0, err
	}
	if all.version < known {
		s.setBack()
	}
	s.replace(all.records, all.version)
	return all.version, nil
}

// follow keeps the store up to date until ctx ends.
func (k *kind[T]) follow(ctx context.Context, s *store[T], version uint64) {
	pause := firstPause
	for fresh := true; ctx.Err() == nil; fresh = false {
		opened, before := time.Now(), version
		var err error
		version, err = k.stream(ctx, s, version, !fresh)
		if unserved(err) && k.lost != nil {
			k.lost()
			return
		}
		if expired(err) {
			if listed, err := k.relist(ctx, s); err == nil {
				version = listed
			}
		}
		// The API server closes a watch that lags behind a burst: one that told
		// anything is not broken.
		if time.Since(opened) > steady || version > before {
			pause = firstPause
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// verify makes sure that the API server has come to the version that an open watch
// began from, and to those that this process's own writes made, of which the watch may
// not have told. Where the hub was restored from a backup it has not, and would tell
// of nothing until it has: that version is as good as forgotten. As long as nobody
// can tell, the store knows nothing.
func (k *kind[T]) verify(ctx context.Context, s *store[T], version uint64) error {
	known := max(version, s.newest())
	now, err := k.listPage(ctx, query{limit: 1})
	if err == nil && now.version < known {
		s.setBack()
		err = apierrors.NewResourceExpired(fmt.Sprintf("the hub has come to version %d, and %d was known", now.version, known))
	}
	s.setBroken(err != nil)
	return err
}

func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// stream reads one watch to its end, and is the version that the next one
// starts from. One that goes on from where another ended is verified.
func (k *kind[T]) stream(ctx context.Context, s *store[T], version uint64, goesOn bool) (uint64, error) {
	req := k.client.Get().AbsPath(k.path(types.NamespacedName{})...).
		Param("watch", "true").
		Param("allowWatchBookmarks", "true").
		Param("resourceVersion", strconv.FormatUint(version, 10)).
		Param("timeoutSeconds", strconv.Itoa(watchSeconds+rand.IntN(watchSeconds)))
	if k.selector != "" {
		req.Param("labelSelector", k.selector)
	}
	if k.bare {
		req.SetHeader("Accept", metadataOnly)
	}
	body, err := req.Stream(ctx)
	if err != nil {
		if !unserved(err) {
			s.setBroken(true)
		}
		return version, err
	}
	defer func() { _ = body.Close() }()
	if goesOn {
		if err := k.verify(ctx, s, version); err != nil {
			return version, err
		}
	}
	return k.read(body, s, version)
}

// errorOf is the error that ends a watch.
func errorOf(raw []byte) error {
	var status metav1.Status
	if err := json.Unmarshal(raw, &status); err != nil {
		return err
	}
	return apierrors.FromObject(&status)
}

func (k *kind[T]) read(body io.Reader, s *store[T], version uint64) (uint64, error) {
	events := json.NewDecoder(body)
	for {
		var e struct {
			Type   watch.EventType `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := events.Decode(&e); err != nil {
			return version, err // at the end of the stream: io.EOF
		}
		switch e.Type {
		case watch.Error:
			return version, errorOf(e.Object)
		case watch.Bookmark:
			var mark metav1.PartialObjectMetadata
			if err := json.Unmarshal(e.Object, &mark); err != nil {
				return version, err
			}
			version = max(version, propagation.Version(mark.ResourceVersion))
			s.progress(version)
		default:
			r, err := k.decode(e.Object)
			if err != nil {
				continue // as in a list: a live read says what is wrong
			}
			version = max(version, r.version)
			s.observe(&r, e.Type == watch.Deleted)
		}
	}
}
