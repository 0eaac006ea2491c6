// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"sluice.dev/pkg/core/propagation"
)

// ErrRetired says that another client has taken the place of this one: the watch
// has to be begun again with that.
var ErrRetired = errors.New("the member's client was replaced")

// ErrWatched says that the kind is watched already.
var ErrWatched = errors.New("the kind is watched already")

// The first and the longest pause after a watch that failed.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second
)

// Watch follows the objects of ours of a kind until ctx ends (nil), the client
// is replaced (ErrRetired), or it cannot begin: the kind is not served, or the
// member does not answer. It calls f for each that is there, and then for each
// change that somebody else made; f must not wait, and may be called by several
// goroutines at once. While it runs, Observe knows these objects.
func (c *Client) Watch(ctx context.Context, gvk schema.GroupVersionKind, f func(Change)) error {
	r, err := c.served(ctx, gvk)
	if err != nil {
		return err
	}
	s, err := c.open(gvk, f)
	if err != nil {
		return err
	}
	defer c.close(gvk)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-c.retired:
			cancel(ErrRetired)
		case <-ctx.Done():
		}
	}()
	follow(ctx, c.lister(r), r.gvk(), s)
	if errors.Is(context.Cause(ctx), ErrRetired) {
		return ErrRetired
	}
	return nil
}

// follow lists and watches until ctx ends. The reflector is not left to its own
// loop: that logs, and pauses for up to a minute.
func follow(ctx context.Context, lw cache.ListerWatcher, gvk schema.GroupVersionKind, s *store) {
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(gvk)
	r := cache.NewReflectorWithOptions(lw, example, s, cache.ReflectorOptions{Name: "member/" + gvk.Kind})
	quiet := klog.NewContext(ctx, logr.Discard())
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		began := time.Now()
		err := r.ListAndWatchWithContext(quiet)
		if err == nil && time.Since(began) > longestPause {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// lister lists and watches the kind's objects that are marked as ours.
func (c *Client) lister(r resource) cache.ListerWatcher {
	at, gvk := c.objects.Resource(r.GroupVersionResource), r.gvk()
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			ctx, cancel := context.WithTimeout(ctx, listTimeout)
			defer cancel()
			opts.LabelSelector = propagation.LabelMemberWork
			list, err := at.List(ctx, opts)
			_ = c.classify(ctx, err, gvk, "") // takes note; the reflector needs the error as it is
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return c.watch(ctx, at, gvk, opts)
		},
	}
}

// watch opens a watch. The reflector would try again by itself, with its own
// pauses, after an error that it knows to be the network's: it does not get to
// know.
func (c *Client) watch(ctx context.Context, at dynamic.ResourceInterface, gvk schema.GroupVersionKind, opts metav1.ListOptions) (watch.Interface, error) {
	opts.LabelSelector = propagation.LabelMemberWork
	w, err := at.Watch(ctx, opts)
	if err == nil {
		if err = verify(ctx, at, opts); err != nil {
			w.Stop()
			w = nil
		}
	}
	var unreachable *Unreachable
	if failure := c.classify(ctx, err, gvk, ""); errors.As(failure, &unreachable) {
		return nil, fmt.Errorf("watch: %s", unreachable.Error())
	}
	return w, err
}

// verify makes sure that the member has come to the version that an open watch goes
// on from. Where it was restored from a backup it has not, and would tell of nothing
// until it has: everything has to be listed.
func verify(ctx context.Context, at dynamic.ResourceInterface, opts metav1.ListOptions) error {
	from := propagation.Version(opts.ResourceVersion)
	if from == 0 || opts.SendInitialEvents != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now, err := at.List(ctx, metav1.ListOptions{LabelSelector: propagation.LabelMemberWork, Limit: 1})
	if err != nil {
		return err
	}
	if to := propagation.Version(now.GetResourceVersion()); to < from {
		return apierrors.NewResourceExpired(fmt.Sprintf("the member has come to version %d, and %d was known", to, from))
	}
	return nil
}

func (c *Client) open(gvk schema.GroupVersionKind, f func(Change)) (*store, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stores[gvk] != nil {
		return nil, fmt.Errorf("%s in %s: %w", gvk.Kind, c.name, ErrWatched)
	}
	s := newStore(gvk, f)
	c.stores[gvk] = s
	return s, nil
}

func (c *Client) close(gvk schema.GroupVersionKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.stores, gvk)
}

func (c *Client) store(gvk schema.GroupVersionKind) *store {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stores[gvk]
}

// writing is called in front of a write of an object; what it returns behind it,
// with the answer or nil.
func (c *Client) writing(ref Ref) (done func(*Observed)) {
	s, key := c.store(ref.GroupVersionKind()), keyOf(ref.Namespace, ref.Name)
	if s == nil {
		return func(*Observed) {}
	}
	s.begin(key)
	return func(answer *Observed) { s.end(key, answer) }
}
