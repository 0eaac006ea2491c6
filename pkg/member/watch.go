// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/source/discovery"
	"sluice.dev/pkg/source/watch"
)

// ErrRetired says that another client has replaced this one: the watch has to be
// started again with that.
var ErrRetired = errors.New("the member's client was replaced")

// ErrWatched says that the kind is watched already.
var ErrWatched = errors.New("the kind is watched already")

// Watch follows Sluice's objects of a kind. It ends when ctx ends (nil), when the
// client is replaced (ErrRetired), or if it cannot begin because the kind is not served
// or the member does not answer. It calls f for each existing object, and then for each
// change that somebody else made. f must not block, and may be called by several
// goroutines at the same time. While Watch runs, Observe returns these objects from
// memory.
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

	ctx, cancel := context.WithCancelCause(klog.NewContext(ctx, logr.Discard())) // problems with the member are recorded on its Works
	defer cancel(nil)
	go func() {
		select {
		case <-c.retired:
			cancel(ErrRetired)
		case <-ctx.Done():
		}
	}()
	c.loop(ctx, r, s).Follow(ctx, "")
	if errors.Is(context.Cause(ctx), ErrRetired) {
		return ErrRetired
	}
	return nil
}

// pageShrinks is the factor by which a page of a list is reduced if it was too large.
const pageShrinks = 8

// ours returns the objects of a kind that are marked as Sluice's.
func (c *Client) ours(r discovery.Resource) watch.Objects {
	return watch.Objects{Client: c.plain, Path: r.Path(types.NamespacedName{}), Labels: propagation.LabelMemberWork, Timeout: listTimeout}
}

// loop returns the loop that keeps the store up to date.
func (c *Client) loop(ctx context.Context, r discovery.Resource, s *store) *watch.Loop[event] {
	l := &watch.Loop[event]{
		Objects: c.ours(r), PageSize: watch.PageSize,
		Decode:  s.decode,
		Replace: s.replace,
		Tell: func(e event, deleted bool) string {
			e.deleted = deleted
			s.see(e)
			return e.object.Version
		},
	}
	l.Reached = func(err error) {
		_ = c.classify(ctx, err, r.GroupVersionKind, "") // marks the credentials as doubted if needed
		if errors.Is(err, errTooLarge) {
			l.PageSize = max(1, l.PageSize/pageShrinks)
		}
	}
	// A member that was away may have been restored from a backup, and its versions may have
	// grown past all known ones by the time that it answers again; one that refuses, or
	// sends too much, has told what does not count any more. Everything is listed again.
	l.Anew = func(error) bool { return true }
	return l
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

// writing is called before a write of an object; the function that it returns is called
// after it, with the answer or nil.
func (c *Client) writing(ref Ref) (done func(*Observed)) {
	s, key := c.store(ref.GroupVersionKind()), keyOf(ref.Namespace, ref.Name)
	if s == nil {
		return func(*Observed) {}
	}
	s.begin(key)
	return func(answer *Observed) { s.end(key, answer) }
}

// deleting is writing for the deletion of the object of that uid; gone says that the
// answer shows that it is.
func (c *Client) deleting(ref Ref, uid types.UID) (done func(gone bool)) {
	s, end := c.store(ref.GroupVersionKind()), c.writing(ref)
	return func(gone bool) {
		if gone && s != nil {
			s.leave(keyOf(ref.Namespace, ref.Name), uid)
		}
		end(nil)
	}
}
