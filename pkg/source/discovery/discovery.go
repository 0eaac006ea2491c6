// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package discovery knows where an API server, a hub's or a member's, serves a kind.
//
// It asks for one group and version at a time, when that is first needed: other groups,
// served or failing, do not matter, and are not read.
//
// Invariants:
//   - A kind that was not served is looked up again after a second, so that one that is
//     installed later is found. A kind that was served is cached for as long as New was
//     told, or until Forget, which is called when a request shows otherwise.
//   - While the API server does not answer, cached kinds stay valid, and a kind that is
//     not cached is an error, never outcome.ErrNotServed.
//   - Concurrent lookups of the same group and version share one request.
//
// client-go's deferred RESTMapper on a memory cache makes 2 requests for a first kind of
// a hub and reads all, 25 kB, where this makes 1 and reads 2 kB; and it makes no further
// request until it is reset, so a kind that is installed later is never found.
//
// It must not interpret errors other than "not found": whoever provides Ask does.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/outcome"
)

const (
	// Again is how long the answer that a kind is not served is cached.
	Again = time.Second
	// versionsFor is how long the list of a group's versions is cached.
	versionsFor = time.Minute
	// timeout limits a request that gets no answer.
	timeout = 10 * time.Second
)

// Ask gets what the server says at a path, and decodes it. A path that is not served is
// an error that apierrors.IsNotFound knows.
type Ask func(ctx context.Context, path []string, into any) error

// Cache is what an API server serves, as far as anybody has asked.
type Cache struct {
	ask Ask
	// believe is how long a kind is taken to be served where no request says otherwise,
	// for a watch that was opened before goes on without a word; 0: until Forget.
	believe time.Duration
	now     func() time.Time

	flight   singleflight.Group
	mu       sync.Mutex
	listings map[schema.GroupVersion]listing
	// versions of each group, the preferred one first.
	versions map[string]versions
}

// listing is what is known of a group and version: what was served when it was asked
// for, and since when that is believed.
type listing struct {
	kinds           map[string]Resource
	asked, believed time.Time
}

type versions struct {
	all   []string
	asked time.Time
}

// New makes a Cache that knows nothing.
func New(ask Ask, believe time.Duration, now func() time.Time) *Cache {
	return &Cache{ask: ask, believe: believe, now: now, listings: map[schema.GroupVersion]listing{}, versions: map[string]versions{}}
}

// Find is where the kind is served, in just that version; outcome.ErrNotServed where it
// is not.
func (c *Cache) Find(gvk schema.GroupVersionKind) (Resource, error) {
	gv := gvk.GroupVersion()
	c.mu.Lock()
	l := c.listings[gv]
	c.mu.Unlock()
	r, known := l.kinds[gvk.Kind]
	if known && (c.believe == 0 || c.now().Sub(l.believed) < c.believe) {
		return r, nil
	}
	if c.now().Sub(l.asked) >= Again {
		answer, err, _ := c.flight.Do(gv.String(), func() (any, error) { return c.renew(gv) })
		switch {
		case err == nil:
			r, known = answer.(listing).kinds[gvk.Kind]
		case !known:
			return Resource{}, err
		}
	}
	if known {
		return r, nil
	}
	return Resource{}, notServed(gvk)
}

func notServed(gvk schema.GroupVersionKind) error {
	return fmt.Errorf("kind %s of %s is not served: %w", gvk.Kind, gvk.GroupVersion(), outcome.ErrNotServed)
}

// FindAnew is Find where something speaks against what is cached: the server is asked again,
// unless it was within a second.
func (c *Cache) FindAnew(gvk schema.GroupVersionKind) (Resource, error) {
	gv := gvk.GroupVersion()
	answer, err, _ := c.flight.Do(gv.String(), func() (any, error) { return c.renew(gv) })
	if err != nil {
		return Resource{}, err
	}
	if r, known := answer.(listing).kinds[gvk.Kind]; known {
		return r, nil
	}
	return Resource{}, notServed(gvk)
}

// renew asks for a group and version, unless somebody did since the caller looked. Without
// an answer, what is cached counts as valid for another period.
func (c *Cache) renew(gv schema.GroupVersion) (listing, error) {
	c.mu.Lock()
	l := c.listings[gv]
	c.mu.Unlock()
	if c.now().Sub(l.asked) < Again {
		return l, nil
	}
	kinds, err := c.Kinds(gv)
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	l = c.listings[gv]
	if l.believed = now; err == nil {
		l.kinds, l.asked = kinds, now
	}
	c.listings[gv] = l
	return l, err
}

// Locate is where the kind is served: in its version, or, where that is not served, in
// the first of its group that is, the preferred one first. Else it is
// outcome.ErrNotServed. A version is how a kind is read, never what it is.
func (c *Cache) Locate(gvk schema.GroupVersionKind) (Resource, error) {
	r, err := c.Find(gvk)
	if !errors.Is(err, outcome.ErrNotServed) {
		return r, err
	}
	all, failed := c.versionsOf(gvk.Group)
	if failed != nil {
		return Resource{}, failed
	}
	for _, version := range all {
		other, failed := c.Find(gvk.GroupKind().WithVersion(version))
		if !errors.Is(failed, outcome.ErrNotServed) {
			return other, failed
		}
	}
	return Resource{}, err
}

// Lasting returns the version by which an object of the kind is best referred to for a
// long time: the group's preferred version if the kind is served in it, since other
// versions are removed earlier; otherwise, or if discovery fails, the kind's own.
func (c *Cache) Lasting(gvk schema.GroupVersionKind) string {
	all, err := c.versionsOf(gvk.Group)
	if err == nil && len(all) > 0 {
		if _, err := c.Find(gvk.GroupKind().WithVersion(all[0])); err == nil {
			return schema.GroupVersion{Group: gvk.Group, Version: all[0]}.String()
		}
	}
	return gvk.GroupVersion().String()
}

// versionsOf are the versions that a group is served in, the preferred one first.
func (c *Cache) versionsOf(group string) ([]string, error) {
	if group == "" {
		return []string{"v1"}, nil
	}
	c.mu.Lock()
	v := c.versions[group]
	c.mu.Unlock()
	if age := c.now().Sub(v.asked); age < versionsFor && len(v.all) > 0 || age < Again {
		return v.all, nil
	}
	answer, err, _ := c.flight.Do(group, func() (any, error) {
		all, err := c.discoverVersions(group)
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.versions[group] = versions{all, c.now()}
		}
		return all, err
	})
	all, _ := answer.([]string)
	return all, err
}

func (c *Cache) discoverVersions(group string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var g metav1.APIGroup
	err := c.ask(ctx, []string{"/apis", group}, &g)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := []string{g.PreferredVersion.Version}
	for _, v := range g.Versions {
		if v.Version != all[0] {
			all = append(all, v.Version)
		}
	}
	return all, nil
}

// Forget drops what is cached of a group, because a request was told that it is not
// served. A lookup that is younger than a second is not repeated, for the server may
// give both answers for a while.
func (c *Cache) Forget(group string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for gv, l := range c.listings {
		if gv.Group == group {
			c.listings[gv] = listing{asked: l.asked}
		}
	}
	delete(c.versions, group)
}

// Kinds are those of a group and version, asked now; none where it is not served.
func (c *Cache) Kinds(gv schema.GroupVersion) (map[string]Resource, error) {
	// Whoever asked first may leave first; the others wait on.
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var list metav1.APIResourceList
	err := c.ask(ctx, prefix(gv), &list)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	kinds, status := map[string]Resource{}, map[string]bool{}
	for _, r := range list.APIResources {
		plural, subresource, sub := strings.Cut(r.Name, "/")
		switch {
		case !sub:
			kinds[r.Kind] = Resource{GroupVersionKind: gv.WithKind(r.Kind), Plural: plural, Namespaced: r.Namespaced, Lists: slices.Contains(r.Verbs, "list")}
		case subresource == "status":
			status[plural] = true
		}
	}
	for kind, r := range kinds {
		r.Status = status[r.Plural]
		kinds[kind] = r
	}
	return kinds, nil
}
