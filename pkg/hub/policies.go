// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

func decodePolicy(scope propagation.Scope, raw []byte) (record[*propagation.Policy], error) {
	o, err := decodeObject[policyv1alpha1.PropagationSpec, policyv1alpha1.PropagationStatus](raw)
	if err != nil {
		return record[*propagation.Policy]{}, err
	}
	label := propagation.ClaimLabelNamespaced
	if scope == propagation.Cluster {
		label = propagation.ClaimLabelCluster
	}
	return recordOf(&o.ObjectMeta, &propagation.Policy{
		Key:             propagation.PolicyKey{Scope: scope, Namespace: o.Namespace, Name: o.Name},
		UID:             o.UID,
		ResourceVersion: o.ResourceVersion,
		Generation:      o.Generation,
		ID:              cmp.Or(o.Labels[label], string(o.UID)),
		Created:         o.CreationTimestamp.Time,
		LastUserWrite:   lastUserWrite(&o.ObjectMeta),
		Deleting:        o.DeletionTimestamp != nil,
		Spec:            o.Spec,
		Status:          o.Status,
	}), nil
}

// Policy is the policy of that key.
func (h *Hub) Policy(ctx context.Context, key propagation.PolicyKey) (*propagation.Policy, error) {
	k := h.policies[key.Scope]
	if k == nil {
		return nil, fmt.Errorf("get %s: no such scope: %q", key, key.Scope)
	}
	return k.get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
}

// Policies are all policies of both scopes.
func (h *Hub) Policies(ctx context.Context) ([]*propagation.Policy, error) {
	return h.policies.all(ctx)
}

// CommitPolicyStatus writes the status of the policy as it was read.
func (h *Hub) CommitPolicyStatus(ctx context.Context, p *propagation.Policy, status policyv1alpha1.PropagationStatus) error {
	if equal, err := same(p.Status, status); err != nil || equal {
		return err
	}
	k := h.policies[p.Key.Scope]
	name := types.NamespacedName{Namespace: p.Key.Namespace, Name: p.Key.Name}
	_, err := k.put(ctx, name, object[struct{}, policyv1alpha1.PropagationStatus]{
		TypeMeta: k.typeMeta(), ObjectMeta: identity(name, p.UID, p.ResourceVersion), Status: status,
	}, "status")
	return err
}

func decodeOverride(scope propagation.Scope, raw []byte) (record[propagation.Override], error) {
	o, err := decodeObject[policyv1alpha1.OverrideSpec, struct{}](raw)
	if err != nil {
		return record[propagation.Override]{}, err
	}
	key := propagation.PolicyKey{Scope: scope, Namespace: o.Namespace, Name: o.Name}
	return recordOf(&o.ObjectMeta, propagation.Override{Key: key, Spec: o.Spec}), nil
}

// Overrides are all overrides of both scopes.
func (h *Hub) Overrides(ctx context.Context) ([]propagation.Override, error) {
	return h.overrides.all(ctx)
}
