// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/outcome"
)

const (
	// discoverAgain is how long an unknown kind is taken to be not served
	// before the API server is asked again.
	discoverAgain = time.Second
	// foundFor is how long a kind is taken to be served where no request says
	// otherwise: a watch that was opened before goes on without a word.
	foundFor = 30 * time.Second
	// discoverTimeout ends a question that nobody answers.
	discoverTimeout = 10 * time.Second
)

// catalog is what the API server serves, as far as anybody has asked. What was found
// is believed for foundFor, or until a request says that it is not served; a kind not
// found is asked for again, at most once in discoverAgain for each group and version.
// While nobody answers, what is known stays.
type catalog struct {
	client rest.Interface
	mu     sync.Mutex
	groups map[schema.GroupVersion]*served
	// versions of each group, the preferred one first.
	versions map[string]*versions
}

// versionsFor is how long it is believed which versions a group has.
const versionsFor = time.Minute

type versions struct {
	mu    sync.Mutex
	asked time.Time
	all   []string
}

type served struct {
	mu    sync.Mutex
	asked time.Time
	kinds map[string]resource
}

// find is where the kind is served; outcome.ErrNotServed where it is not.
func (c *catalog) find(gvk schema.GroupVersionKind) (resource, error) {
	g := c.group(gvk.GroupVersion())
	g.mu.Lock()
	defer g.mu.Unlock()
	r, known := g.kinds[gvk.Kind]
	age := time.Since(g.asked)
	if known && age < foundFor {
		return r, nil
	}
	if age >= discoverAgain {
		kinds, err := c.discover(gvk.GroupVersion())
		switch {
		case err == nil:
			g.kinds, g.asked = kinds, time.Now()
		case known:
			g.asked = time.Now()
		default:
			return resource{}, fmt.Errorf("discover %s: %w", gvk.GroupVersion(), err)
		}
	}
	if r, ok := g.kinds[gvk.Kind]; ok {
		return r, nil
	}
	return resource{}, fmt.Errorf("kind %s of %s is not served: %w", gvk.Kind, gvk.GroupVersion(), outcome.ErrNotServed)
}

// locate is where the kind is served: in its version, or, where that is not served,
// in the first of its group that is, the preferred one first. Else it is
// outcome.ErrNotServed. A version is how a kind is read, never what it is.
func (c *catalog) locate(gvk schema.GroupVersionKind) (resource, error) {
	r, err := c.find(gvk)
	if !errors.Is(err, outcome.ErrNotServed) {
		return r, err
	}
	all, failed := c.versionsOf(gvk.Group)
	if failed != nil {
		return resource{}, fmt.Errorf("discover the versions of %s: %w", gvk.Group, failed)
	}
	for _, version := range all {
		other, failed := c.find(gvk.GroupKind().WithVersion(version))
		if !errors.Is(failed, outcome.ErrNotServed) {
			return other, failed
		}
	}
	return resource{}, err
}

// lasting is the version in which an object of the kind is best referred to for a long
// time: the group's preferred one where it serves the kind, as others drop out first.
// Where nobody can tell it is the kind's own.
func (c *catalog) lasting(gvk schema.GroupVersionKind) string {
	all, err := c.versionsOf(gvk.Group)
	if err == nil && len(all) > 0 {
		if _, err := c.find(gvk.GroupKind().WithVersion(all[0])); err == nil {
			return gvk.GroupKind().WithVersion(all[0]).GroupVersion().String()
		}
	}
	return gvk.GroupVersion().String()
}

// versionsOf are the versions that a group is served in, the preferred one first.
func (c *catalog) versionsOf(group string) ([]string, error) {
	c.mu.Lock()
	v := c.versions[group]
	if v == nil {
		v = &versions{}
		c.versions[group] = v
	}
	c.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.asked) < versionsFor && len(v.all) > 0 || time.Since(v.asked) < discoverAgain {
		return v.all, nil
	}
	all, err := c.discoverVersions(group)
	if err != nil {
		return nil, err
	}
	v.all, v.asked = all, time.Now()
	return all, nil
}

func (c *catalog) discoverVersions(group string) ([]string, error) {
	if group == "" {
		return []string{"v1"}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), discoverTimeout)
	defer cancel()
	raw, err := do(ctx, c.client.Get().AbsPath("/apis", group))
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var g metav1.APIGroup
	if err := json.Unmarshal(raw, &g); err != nil {
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

func (c *catalog) group(gv schema.GroupVersion) *served {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.groups[gv]
	if g == nil {
		g = &served{}
		c.groups[gv] = g
	}
	return g
}

// forget has the group and version asked for again: a request was told that what
// had been found is not served.
func (c *catalog) forget(gv schema.GroupVersion) {
	g := c.group(gv)
	g.mu.Lock()
	g.kinds = nil
	g.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.versions, gv.Group)
}

// discover is every kind of a group and version; none where it is not served.
func (c *catalog) discover(gv schema.GroupVersion) (map[string]resource, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoverTimeout)
	defer cancel()
	raw, err := do(ctx, c.client.Get().AbsPath(resource{GroupVersionKind: gv.WithKind("")}.path(types.NamespacedName{})...))
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	kinds := map[string]resource{}
	status := map[string]bool{}
	for _, r := range list.APIResources {
		plural, subresource, sub := strings.Cut(r.Name, "/")
		switch {
		case !sub:
			kinds[r.Kind] = resource{GroupVersionKind: gv.WithKind(r.Kind), plural: plural, namespaced: r.Namespaced, lists: slices.Contains(r.Verbs, "list")}
		case subresource == "status":
			status[plural] = true
		}
	}
	for kind, r := range kinds {
		r.status = status[r.plural]
		kinds[kind] = r
	}
	return kinds, nil
}
