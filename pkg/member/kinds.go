// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/source/discovery"
)

// ask requests what is served at a path.
func (c *Client) ask(ctx context.Context, path []string, into any) error {
	raw, err := c.plain.Get().AbsPath(path...).SetHeader("Accept", runtime.ContentTypeJSON).DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return err
	}
	if err != nil {
		return c.classify(ctx, err, schema.GroupVersionKind{}, "")
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return c.unreachable(fmt.Errorf("decode %s: %w", strings.Join(path, "/"), err))
	}
	return nil
}

// served returns how the member serves the kind, or NotServed. If the member does not
// serve the version, another one is used that has the same fields on the hub.
func (c *Client) served(ctx context.Context, gvk schema.GroupVersionKind) (discovery.Resource, error) {
	r, err := c.kinds.Find(gvk)
	if !errors.Is(err, outcome.ErrNotServed) {
		return r, err
	}
	others, err := c.alike(ctx, gvk)
	if err != nil {
		return discovery.Resource{}, fmt.Errorf("ask the hub for other versions: %w", err)
	}
	for _, version := range others {
		r, err := c.kinds.Find(gvk.GroupKind().WithVersion(version))
		if !errors.Is(err, outcome.ErrNotServed) {
			return r, err
		}
	}
	return discovery.Resource{}, &NotServed{c.name, gvk}
}
