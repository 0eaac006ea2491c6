// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
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
	p, err := k.get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
	if err != nil {
		return nil, err
	}
	return h.Resolve(p), nil
}

// Policies are all policies of both scopes.
func (h *Hub) Policies(ctx context.Context) ([]*propagation.Policy, error) {
	all, err := h.policies.all(ctx)
	for i, p := range all {
		all[i] = h.Resolve(p)
	}
	return all, err
}

// Resolve is the policy with the kinds that it names and the hub does not serve, and with
// those that it cannot select. A kind counts as served, and as one that has namespaces,
// if discovery fails, so that no policy loses a template because of that.
func (h *Hub) Resolve(p *propagation.Policy) *propagation.Policy {
	var notServed, noNamespace []schema.GroupVersionKind
	for _, s := range p.Spec.ResourceSelectors {
		gvk := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
		if slices.Contains(notServed, gvk) || slices.Contains(noNamespace, gvk) {
			continue
		}
		switch found, err := h.catalog.Find(gvk); {
		case errors.Is(err, outcome.ErrNotServed):
			notServed = append(notServed, gvk)
		case err == nil && !found.Namespaced && p.Key.Scope == propagation.Namespaced:
			noNamespace = append(noNamespace, gvk)
		}
	}
	if notServed == nil && noNamespace == nil {
		return p
	}
	resolved := *p
	resolved.NotServed, resolved.NoNamespace = notServed, noNamespace
	return &resolved
}

// CommitPolicyStatus writes the status of the policy as it was read.
func (h *Hub) CommitPolicyStatus(ctx context.Context, p *propagation.Policy, status policyv1alpha1.PropagationStatus) error {
	if equal, err := same(p.Status, status); err != nil || equal {
		return err
	}
	k := h.policies[p.Key.Scope]
	name := types.NamespacedName{Namespace: p.Key.Namespace, Name: p.Key.Name}
	_, err := k.put(ctx, name, object[struct{}, policyv1alpha1.PropagationStatus]{
		TypeMeta: k.TypeMeta(), ObjectMeta: identity(name, p.UID, p.ResourceVersion), Status: status,
	}, "status")
	return err
}

func decodeOverride(scope propagation.Scope, raw []byte) (record[propagation.Override], error) {
	o, err := decodeObject[policyv1alpha1.OverrideSpec, struct{}](raw)
	if err != nil {
		return record[propagation.Override]{}, err
	}
	key := propagation.PolicyKey{Scope: scope, Namespace: o.Namespace, Name: o.Name}
	return recordOf(&o.ObjectMeta, propagation.Override{Key: key, Spec: o.Spec, Created: o.CreationTimestamp.Time}), nil
}

// Overrides are those that may concern what lives in the namespace: the cluster's,
// and its own. Without a namespace, the cluster's.
func (h *Hub) Overrides(ctx context.Context, namespace string) ([]propagation.Override, error) {
	all, err := h.overrides[propagation.Cluster].list(ctx, "")
	if err == nil && namespace != "" {
		var own []propagation.Override
		own, err = h.overrides[propagation.Namespaced].list(ctx, namespace)
		all = append(own, all...)
	}
	return all, err
}

// OverridesDefined returns when the kind of overrides of that scope was defined, as Defined
// does.
func (h *Hub) OverridesDefined(ctx context.Context, scope propagation.Scope) (time.Time, error) {
	return h.Defined(ctx, overrideKinds[scope].GroupVersionKind)
}

// AllOverrides are the override policies of both scopes, of all namespaces.
func (h *Hub) AllOverrides(ctx context.Context) ([]propagation.Override, error) {
	return h.overrides.all(ctx)
}
