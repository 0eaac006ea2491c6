// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/outcome"
)

const (
	// alikeFor is how long the answer of Alike is cached.
	alikeFor = 10 * time.Second
	// alikeTimeout limits the request for a definition.
	alikeTimeout = 10 * time.Second
)

// alikes is what is known of which versions of kinds are alike.
type alikes struct {
	mu    sync.Mutex
	known map[schema.GroupVersionKind]alike
}

type alike struct {
	versions []string
	asked    time.Time
}

// Alike returns the other versions that the hub serves of the kind, if its
// CustomResourceDefinition says that versions differ in their name only (conversion
// strategy None): then an object of one version is an object of each. It returns none
// where a webhook converts between versions, for built-in kinds, and where the
// definition may not be read.
func (h *Hub) Alike(ctx context.Context, gvk schema.GroupVersionKind) ([]string, error) {
	h.alikes.mu.Lock()
	known, ok := h.alikes.known[gvk]
	h.alikes.mu.Unlock()
	if ok && time.Since(known.asked) < alikeFor {
		return known.versions, nil
	}
	versions, err := h.alike(ctx, gvk)
	if err != nil {
		return nil, err
	}
	h.alikes.mu.Lock()
	defer h.alikes.mu.Unlock()
	if h.alikes.known == nil {
		h.alikes.known = map[schema.GroupVersionKind]alike{}
	}
	h.alikes.known[gvk] = alike{versions, time.Now()}
	return versions, nil
}

func (h *Hub) alike(ctx context.Context, gvk schema.GroupVersionKind) ([]string, error) {
	r, err := h.catalog.Locate(gvk)
	if errors.Is(err, outcome.ErrNotServed) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, alikeTimeout)
	defer cancel()
	raw, err := h.definition(ctx, r)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the definition of %s: %w", gvk.GroupKind(), err)
	}
	var definition struct {
		Spec struct {
			Conversion struct {
				Strategy string `json:"strategy"`
			} `json:"conversion"`
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &definition); err != nil {
		return nil, fmt.Errorf("decode the definition of %s: %w", gvk.GroupKind(), err)
	}
	if s := definition.Spec.Conversion.Strategy; s != "" && s != "None" {
		return nil, nil
	}
	var versions []string
	for _, v := range definition.Spec.Versions {
		if v.Served && v.Name != gvk.Version {
			versions = append(versions, v.Name)
		}
	}
	return versions, nil
}
