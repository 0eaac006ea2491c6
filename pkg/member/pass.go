// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// errNoPassing says that an object was to be passed on without permission, which is a
// mistake in the program.
var errNoPassing = outcome.Terminal(errors.New("nothing permits to pass the object on"))

// Pass changes the marks of the object as the permission says, if it has not changed
// since it was read, and registers the change with the watch as Sluice's own.
func (c *Client) Pass(ctx context.Context, ref Ref, p applying.Passing) error {
	if !p.Permits() {
		return fmt.Errorf("pass on %s in %s: %w", ref, c.name, errNoPassing)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	at, _, err := c.resource(ctx, ref)
	if err != nil {
		return err
	}
	meta := p.Marks()
	meta["uid"], meta["resourceVersion"] = p.UID(), p.Version()
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	done := c.writing(ref)
	now, err := at.Patch(ctx, ref.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: propagation.FieldManager})
	if err != nil {
		done(nil)
		return c.classify(ctx, err, ref.GroupVersionKind(), ref.Namespace)
	}
	done(observe(ref.APIVersion, now.Object, false))
	return nil
}
