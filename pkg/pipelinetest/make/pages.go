// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package make

import (
	"slices"
	"strings"

	"sluice.dev/pkg/core/propagation"
)

// Page is a page of these bindings as a hub lists them, those of cluster scope last: at
// most limit of them, those behind cont, and where to go on; empty: that was all.
func Page(all []*propagation.Binding, limit int64, cont string) ([]*propagation.Binding, string) {
	order := func(b *propagation.Binding) string {
		if b.Key.Scope() == propagation.Cluster {
			return "2 " + b.Key.ID()
		}
		return "1 " + b.Key.ID()
	}
	after := strings.TrimPrefix(cont, "after:")
	page := slices.DeleteFunc(slices.Clone(all), func(b *propagation.Binding) bool { return order(b) <= after })
	slices.SortFunc(page, func(a, b *propagation.Binding) int { return strings.Compare(order(a), order(b)) })
	if int64(len(page)) <= limit {
		return page, ""
	}
	return page[:limit], "after:" + order(page[limit-1])
}
