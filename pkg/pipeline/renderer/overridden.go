// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/rendering"
	"sluice.dev/pkg/outcome"
)

// undefined returns, by cluster, why nothing can be rendered there: the Work was made with
// an override that is missing, and that nobody deleted (decision 0083). Where none is
// missing it costs no request.
func (s *Stage) undefined(ctx context.Context, existing []*propagation.Work, overrides []propagation.Override) (map[string]error, error) {
	why := map[string]error{}
	defined := map[propagation.Scope]func() (time.Time, error){}
	for _, scope := range propagation.Scopes {
		defined[scope] = sync.OnceValues(func() (time.Time, error) { return s.hub.OverridesDefined(ctx, scope) })
	}
	for _, w := range existing {
		for key, made := range rendering.Missing(w, overrides) {
			went, err := outcome.WentWithItsKind(made, defined[key.Scope])
			if err != nil {
				return nil, fmt.Errorf("find out what became of override %s: %w", key, err)
			}
			if went {
				why[w.Key.Cluster] = rendering.Undefined(key)
			}
		}
	}
	return why, nil
}
