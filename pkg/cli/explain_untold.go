// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// cannotTell says why nobody can tell whether a template without a binding was propagated:
// it has Works, or the definition of bindings is younger than the template, so that its
// binding may have gone with a former one. Empty: it was not propagated, as far as the
// user may know.
func cannotTell(ctx context.Context, h *hub.Hub, t *propagation.Template) (string, error) {
	const again = "; if its policy is missing, too, apply it again"
	key := propagation.BindingOf(t.Key)
	works, err := h.WorksOf(ctx, key)
	if unlessForbidden(err) != nil {
		return "", installed(err)
	}
	if len(works) > 0 {
		var names []string
		for _, w := range works {
			names = append(names, w.Key.Cluster)
		}
		return "the binding is missing, and there are Works for " + some(names, fewClusters) + ": these members keep what they have" + again, nil
	}
	switch made, err := h.Defined(ctx, bindingKind(key.Scope())); {
	case errors.Is(err, outcome.ErrNotServed):
		return "the hub's definition of bindings is gone, or being deleted: members keep what they have; once it is gone, install it with 'kubectl apply -f config/300-crds'", nil
	case err != nil:
		return "", err
	case made.After(t.Created):
		return fmt.Sprintf("nothing was propagated since the hub's definition of bindings was created, %s, and the template is older: what members may have got before stays, and '%s get orphans' lists it%s",
			made.UTC().Format(time.RFC3339), name, again), nil
	}
	return "", nil
}
