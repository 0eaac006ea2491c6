// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	kinds "k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/redis/schema"
)

// scan is how many waiting templates are read at once.
const scan = 500

// Held pages through the templates that a policy holds, n at once. A cursor is
// opaque and stays good whatever happens meanwhile, a rebuild included; the empty
// one is the start, and the end.
func (m *Map) Held(ctx context.Context, key propagation.PolicyKey, cursor string, n int) ([]propagation.TemplateKey, string, error) {
	n = max(n, 1)
	entries, err := m.entries(ctx, schema.Held, beyond([]span{heldBy(key)}, cursor), n+1)
	if err != nil {
		return nil, "", fmt.Errorf("list what %s holds: %w", key, err)
	}
	next := ""
	if len(entries) > n {
		entries, next = entries[:n], entries[n-1].member
	}
	var held []propagation.TemplateKey
	for _, e := range entries {
		held = append(held, e.template)
	}
	return held, next, nil
}

// HeldCount is how many templates a policy holds.
func (m *Map) HeldCount(ctx context.Context, key propagation.PolicyKey) (int64, error) {
	n, err := m.count(ctx, heldBy(key))
	if err != nil {
		return 0, fmt.Errorf("count what %s holds: %w", key, err)
	}
	return n, nil
}

// Waiting pages through the waiting templates that one policy's selectors may
// select and that match accepts, n at once; cursors are as with Held, and the
// last page may be empty. It sees each template that waits from the first page to
// the last. A template that is selected by its name in any namespace, and by its
// kind too, comes twice.
//
// Names are looked up; other selectors read what waits of their kind, in their
// namespace where they have one.
func (m *Map) Waiting(
	ctx context.Context, selectors []Selector, match func(t propagation.TemplateKey, labels map[string]string) bool, cursor string, n int,
) ([]propagation.TemplateKey, string, error) {
	n = max(n, 1)
	var spans []span
	for _, s := range selectors {
		spans = append(spans, waitingFor(s))
	}
	left := beyond(merge(spans), cursor)
	var found []propagation.TemplateKey
	for len(left) > 0 {
		entries, err := m.entries(ctx, schema.Waiting, left, scan)
		if err != nil {
			return nil, "", fmt.Errorf("list waiting templates: %w", err)
		}
		for _, e := range entries {
			if match(e.template, e.labels) {
				found = append(found, e.template)
			}
			if len(found) == n {
				return found, e.member, nil
			}
		}
		if len(entries) < scan {
			break
		}
		left = beyond(left, entries[len(entries)-1].member)
	}
	return found, "", nil
}

// A listed entry is a member of a sorted set and what its record says.
type listed struct {
	member   string
	template propagation.TemplateKey
	labels   map[string]string
}

func (m *Map) entries(ctx context.Context, set string, spans []span, n int) ([]listed, error) {
	if len(spans) == 0 {
		return nil, nil
	}
	values, err := m.list(ctx, set, spans, n)
	if err != nil {
		return nil, err
	}
	if len(values)%2 != 0 {
		return nil, fmt.Errorf("script replied %d values", len(values))
	}
	var entries []listed
	for i := 0; i < len(values); i += 2 {
		r, err := parseRecord(values[i+1])
		if err != nil {
			return nil, err
		}
		_, id, _ := strings.Cut(values[i], "\n")
		t, err := parseTemplate(id, r)
		if err != nil {
			return nil, err
		}
		entries = append(entries, listed{member: values[i], template: t, labels: r.labels})
	}
	return entries, nil
}

// Templates pages through the templates of a kind of which anything is recorded, whether
// a policy holds them or not: about n at once, in no order. A cursor is opaque, and good
// for the next page; the empty one is the start, and the end. What is there from the first
// page to the last comes, and may come twice.
func (m *Map) Templates(ctx context.Context, kind kinds.GroupKind, cursor string, n int) ([]propagation.TemplateKey, string, error) {
	next, pairs, err := m.scan(ctx, kind.Group+"/"+kind.Kind+"/*", cmp.Or(cursor, atEnd), max(n, 1))
	if err != nil {
		return nil, "", fmt.Errorf("list the templates of kind %s: %w", kind.Kind, err)
	}
	var all []propagation.TemplateKey
	for pair := range slices.Chunk(pairs, 2) {
		r, err := parseRecord(pair[1])
		if err != nil {
			return nil, "", err
		}
		t, err := parseTemplate(pair[0], r)
		if err != nil {
			return nil, "", err
		}
		all = append(all, t)
	}
	if next == atEnd {
		next = ""
	}
	return all, next, nil
}
