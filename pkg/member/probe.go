// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import "context"

// Probe returns the version of a cluster's API server, or an error if it is not ready.
func (f *Fleet) Probe(ctx context.Context, cluster string) (version string, err error) {
	c, err := f.Client(ctx, cluster)
	if err != nil {
		return "", err
	}
	if err := c.Ready(ctx); err != nil {
		return "", err
	}
	return c.Version(ctx)
}
