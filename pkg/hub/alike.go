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
	// alikeFor is how long it is believed which versions of a kind are alike.
	alikeFor = 10 * time.Second
	// alikeTimeout ends a question that nobody answers.
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

// Alike is in which other versions the hub serves the kind, by its definition, where
// these differ in nothing but their name: an object of one is an object of each. Of
// kinds whose versions are converted by a program, of kinds that are built in, and
// where the definition may not be read, nobody can say that: then there is none.
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
