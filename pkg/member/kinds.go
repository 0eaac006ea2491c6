// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// relist is how long a list of kinds is believed that lacks the kind asked for.
const relist = 2 * time.Second

// kinds knows how the member serves a kind. It asks for one group and version at
// a time, when that is needed first: what else the member serves, or fails to
// serve, does not matter.
type kinds struct {
	// list asks the member; an empty list says that it serves nothing of it.
	list func(ctx context.Context, gv schema.GroupVersion) ([]metav1.APIResource, error)
	// alike asks the hub in which versions an object says the same.
	alike func(ctx context.Context, gvk schema.GroupVersionKind) ([]string, error)
	now   func() time.Time

	flight singleflight.Group
	mu     sync.Mutex
	known  map[schema.GroupVersion]listing
}

// listing is what the member serves of a group and version.
type listing struct {
	kinds map[string]resource
	at    time.Time
}

// resource is how a kind is served.
type resource struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
}

// gvk is the kind in the version that the member serves.
func (r resource) gvk() schema.GroupVersionKind { return r.GroupVersion().WithKind(r.kind) }

// prefix is where its group and version are served.
func (r resource) prefix() []string {
	if r.Group == "" {
		return []string{"/api", r.Version}
	}
	return []string{"/apis", r.Group, r.Version}
}

// find tells how the kind is served; false: it is not. Where the member does not
// serve its version, a version serves that is another name for the same.
func (k *kinds) find(ctx context.Context, gvk schema.GroupVersionKind) (resource, bool, error) {
	r, served, err := k.in(ctx, gvk)
	if served || err != nil {
		return r, served, err
	}
	others, err := k.alike(ctx, gvk)
	if err != nil {
		return resource{}, false, fmt.Errorf("ask the hub for other versions: %w", err)
	}
	for _, version := range others {
		if r, served, err := k.in(ctx, gvk.GroupKind().WithVersion(version)); served || err != nil {
			return r, served, err
		}
	}
	return resource{}, false, nil
}

// in tells how the kind is served in just that version.
func (k *kinds) in(ctx context.Context, gvk schema.GroupVersionKind) (resource, bool, error) {
	gv := gvk.GroupVersion()
	k.mu.Lock()
	l, listed := k.known[gv]
	k.mu.Unlock()
	r, served := l.kinds[gvk.Kind]
	if served || listed && k.now().Sub(l.at) < relist {
		return r, served, nil
	}
	answer, err, _ := k.flight.Do(gv.String(), func() (any, error) {
		// Whoever asked first may leave first; the others wait on.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		return k.fetch(ctx, gv)
	})
	if err != nil {
		return resource{}, false, err
	}
	r, served = answer.(listing).kinds[gvk.Kind]
	return r, served, nil
}

func (k *kinds) fetch(ctx context.Context, gv schema.GroupVersion) (listing, error) {
	resources, err := k.list(ctx, gv)
	if err != nil {
		return listing{}, err
	}
	l := listing{kinds: map[string]resource{}, at: k.now()}
	for _, r := range resources {
		if !strings.Contains(r.Name, "/") { // a subresource
			l.kinds[r.Kind] = resource{gv.WithResource(r.Name), r.Kind, r.Namespaced}
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[gv] = l
	return l, nil
}

// forget what is known of a group: the member has answered otherwise.
func (k *kinds) forget(group string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.known, func(gv schema.GroupVersion, _ listing) bool { return gv.Group == group })
}
