// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
)

// Hub is the control plane's API.
type Hub interface {
	// Namespaced reports whether objects of the kind are namespaced;
	// outcome.ErrNotServed: the kind is not served.
	Namespaced(gvk schema.GroupVersionKind) (bool, error)
	Features(ctx context.Context) (propagation.Features, error)
}
