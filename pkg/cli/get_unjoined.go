// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

// unjoined adds a note about clusters that the lines name and that are not joined: their
// Clusters were deleted, or all of them with their kind. Nobody reports on these, so that
// what a line says about them is what was known before. Who may not list Clusters is not
// told.
func (o *getOptions) unjoined(ctx context.Context, h *hub.Hub, lines []summary) error {
	var names []string
	for _, l := range lines {
		names = append(names, l.Clusters...)
	}
	if len(names) == 0 {
		return nil
	}
	clusters, err := h.Clusters(ctx)
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case errors.Is(err, outcome.ErrNotServed):
		o.screen.Note("The hub does not serve Clusters, so nobody reports what members have: they keep it, and the lines say what was so before. Install the kind with 'kubectl apply -f config/300-crds', and join the members again.")
		return nil
	case err != nil:
		return fmt.Errorf("list clusters: %w", err)
	}
	for _, c := range clusters {
		names = slices.DeleteFunc(names, func(name string) bool { return name == c.Name })
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	gone := slices.Compact(names)
	o.screen.Note("Not joined: %s. Nobody reports what is in them: they keep what they have, and the lines say what was so before. 'kubectl sluice join' joins a member.", strings.Join(gone, ", "))
	return nil
}
