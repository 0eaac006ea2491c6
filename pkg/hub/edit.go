// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"fmt"

	"sluice.dev/pkg/core/propagation"
)

// CommitSuspended writes the template's propagation.AnnotationSuspended, on condition
// that the template is as it was read.
func (h *Hub) CommitSuspended(ctx context.Context, t *propagation.Template, value string) (*propagation.Template, error) {
	if t.SuspendedIn() == value {
		return t, nil
	}
	return h.edit(ctx, t, map[string]any{"metadata": map[string]any{"annotations": map[string]any{propagation.AnnotationSuspended: orNull(value)}}})
}

// CommitContent replaces the user's part of the template by content, which is that of
// an earlier revision, if the template still is as it was read. The rest of the
// template stays.
func (h *Hub) CommitContent(ctx context.Context, t *propagation.Template, content map[string]any) (*propagation.Template, error) {
	patch, err := patchOf(keyed(t.Object), keyed(content))
	if err != nil {
		return nil, fmt.Errorf("roll %s back: %w", t.Key, err)
	}
	if len(patch) == 0 {
		return t, nil
	}
	return h.edit(ctx, t, patch)
}

// keyed returns the user's part of an object. It always has maps of labels and
// annotations, so that a patch between two of them removes single keys, never a whole
// map with the keys of the system.
func keyed(object map[string]any) map[string]any {
	content := propagation.Content(object)
	meta, _ := content["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if meta[field] == nil {
			meta[field] = map[string]any{}
		}
	}
	return content
}

func (h *Hub) edit(ctx context.Context, t *propagation.Template, patch map[string]any) (*propagation.Template, error) {
	k, err := h.templateKind(t.Key.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", t.Key, err)
	}
	return k.patch(ctx, nameOf(t), conditional(patch, t.UID, t.ResourceVersion))
}

func orNull(value string) any {
	if value == "" {
		return nil
	}
	return value
}
