// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// aggregated asks for everything that is served in one answer.
	aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	// askAgain is how long the list of all kinds is cached. It is short, for people
	// who install a kind wait until it is found.
	askAgain = 2 * time.Second
)

// inside is what is served in namespaces, as the API server said last.
type inside struct {
	mu    sync.Mutex
	asked time.Time
	kinds []schema.GroupVersionKind
}

// KindsInNamespaces are the kinds whose objects are in namespaces, each in the version
// that its group prefers, as far as they can be read, listed and watched, sorted.
func (h *Hub) KindsInNamespaces(ctx context.Context) ([]schema.GroupVersionKind, error) {
	h.inside.mu.Lock()
	defer h.inside.mu.Unlock()
	if time.Since(h.inside.asked) < askAgain {
		return h.inside.kinds, nil
	}
	var kinds []schema.GroupVersionKind
	for _, path := range []string{"/api", "/apis"} {
		raw, err := do(ctx, h.client.Get().AbsPath(path).SetHeader("Accept", aggregated))
		if err != nil {
			return nil, explain(err, "discover what is in namespaces")
		}
		var list apidiscoveryv2.APIGroupDiscoveryList
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("decode what is in namespaces: %w", err)
		}
		if list.Kind != "APIGroupDiscoveryList" {
			return nil, fmt.Errorf("discover what is in namespaces: the API server answers with a %s", list.Kind)
		}
		for _, g := range list.Items {
			kinds = append(kinds, kindsInside(g)...)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	h.inside.kinds, h.inside.asked = kinds, time.Now()
	return kinds, nil
}

// kindsInside are those of a group, each in the first version that serves it, for
// a group lists the versions that it prefers first.
func kindsInside(g apidiscoveryv2.APIGroupDiscovery) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	seen := map[string]bool{}
	for _, v := range g.Versions {
		for _, r := range v.Resources {
			if r.Scope != apidiscoveryv2.ScopeNamespace || r.ResponseKind == nil || seen[r.ResponseKind.Kind] {
				continue
			}
			if slices.Contains(r.Verbs, "get") && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") {
				seen[r.ResponseKind.Kind] = true
				kinds = append(kinds, schema.GroupVersionKind{Group: g.Name, Version: v.Version, Kind: r.ResponseKind.Kind})
			}
		}
	}
	return kinds
}
