// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// Contents is what the Secrets of a Work hold.
func (h *Hub) Contents(ctx context.Context, key propagation.WorkKey) (*propagation.KeptContents, error) {
	if err := h.ask(ctx, "get", "contents of "+key.String()); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.collect()
	if c := h.contents[key]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("get the contents of %s: %w", key, outcome.ErrGone)
}

// CommitContents keeps what the Secrets of the Work hold.
func (h *Hub) CommitContents(ctx context.Context, w *propagation.Work, old *propagation.KeptContents, contents propagation.Contents) error {
	if old != nil && old.Owner == w.UID && maps.EqualFunc(old.Contents, contents, slices.Equal[[]byte]) {
		return nil
	}
	verb, about := "create", "contents of "+w.Key.String()
	if old != nil {
		verb = "update"
	}
	if err := h.ask(ctx, verb, about); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.collect()
	is := h.contents[w.Key]
	if (is == nil) != (old == nil) || is != nil && (is.UID != old.UID || is.ResourceVersion != old.ResourceVersion) {
		return errTaken
	}
	h.version++
	next := &propagation.KeptContents{UID: types.UID(fmt.Sprintf("uid of contents %d", h.version)), ResourceVersion: strconv.FormatUint(h.version, 10), Owner: w.UID, Contents: maps.Clone(contents)}
	if is != nil {
		next.UID = is.UID
	}
	h.contents[w.Key] = next
	return h.wrote(ctx, verb, about, is, next)
}

// DropContents forgets what is kept beside a Work.
func (h *Hub) DropContents(ctx context.Context, key propagation.WorkKey, old *propagation.KeptContents) error {
	about := "contents of " + key.String()
	if err := h.ask(ctx, "delete", about); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if is := h.contents[key]; is != nil && is.UID == old.UID {
		delete(h.contents, key)
		return h.wrote(ctx, "delete", about, is, nil)
	}
	return nil
}

// collect lets go of the contents whose Works are gone, as the garbage collector
// does.
func (h *Hub) collect() {
	maps.DeleteFunc(h.contents, func(key propagation.WorkKey, c *propagation.KeptContents) bool {
		r := h.works.live[key.String()]
		return r == nil || r.uid != c.Owner
	})
}

// RemoveContents lets somebody delete what is kept beside a Work; false: nothing
// is.
func (h *Hub) RemoveContents(key propagation.WorkKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, there := h.contents[key]
	delete(h.contents, key)
	return there
}

// LiveContents are the contents beside a Work as they are. For tests.
func (h *Hub) LiveContents(key propagation.WorkKey) propagation.Contents {
	if c := h.contents[key]; c != nil {
		return c.Contents
	}
	return nil
}
