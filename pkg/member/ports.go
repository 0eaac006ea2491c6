// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
)

// takePorts makes all ports of the Service Sluice's, as it was just read, so that the next
// apply leaves none that others have set (applying.TakePorts). False: there are none.
func (c *Client) takePorts(ctx context.Context, ref Ref) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	at, _, err := c.resource(ctx, ref)
	if err != nil {
		return false, err
	}
	live, err := at.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return false, c.classify(ctx, err, ref.GroupVersionKind(), ref.Namespace)
	}
	managed, took := applying.TakePorts(live.Object)
	if !took {
		return false, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "managedFields": managed,
	}})
	if err != nil {
		return false, fmt.Errorf("encode: %w", err)
	}
	if _, err := at.Patch(ctx, ref.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: propagation.FieldManager}); err != nil {
		return false, c.classify(ctx, err, ref.GroupVersionKind(), ref.Namespace)
	}
	return true, nil
}
