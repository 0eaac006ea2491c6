// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	placementv1 "sluice.dev/apis/placement/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// drafts are the objects in a file.
type drafts struct {
	policies   []*propagation.Policy
	clusters   []*clusterv1alpha1.Cluster
	placements []*placementv1.ClusterResourcePlacement
	overrides  []propagation.Override
	// placed are the overrides of placements.
	placed    []explaining.PlacementOverride
	templates []*propagation.Template
}

// plan returns the objects in a file as the hub would store them.
func (o *diffOptions) plan(ctx context.Context, h *hub.Hub, objects []*unstructured.Unstructured) (out drafts, err error) {
	if len(objects) == 0 {
		return out, fmt.Errorf("there is no object in %s", o.path)
	}
	for _, u := range objects {
		if u.GetName() == "" || u.GetKind() == "" {
			return out, fmt.Errorf("%s holds a %s: only objects with a kind and a name can be compared", o.path, described(u))
		}
		if err := o.draft(ctx, h, u, &out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// draft adds one object of a file.
func (o *diffOptions) draft(ctx context.Context, h *hub.Hub, u *unstructured.Unstructured, out *drafts) error {
	key := keyOf(u)
	if _, ok := hub.PlacementKeyOf(key); ok {
		p, err := o.placementOf(ctx, u)
		out.placements = append(out.placements, p)
		return err
	}
	if name, ok := hub.ClusterOf(key); ok {
		c, err := relabelled(ctx, h, name, u)
		out.clusters = append(out.clusters, c)
		return err
	}
	if _, ok := hub.PolicyKeyOf(key); ok {
		p, err := o.stored(ctx, u)
		out.policies = append(out.policies, p)
		return err
	}
	if _, ok := hub.OverrideKeyOf(key); ok {
		override, err := o.plannedOverride(ctx, u)
		out.overrides = append(out.overrides, override)
		return err
	}
	if override, ok, err := o.plannedPlacementOverride(ctx, h, u); ok || err != nil {
		out.placed = append(out.placed, override)
		return err
	}
	if why := matching.Exempt(key); why != "" {
		return fmt.Errorf("%s holds a %s, which is never carried: %s", o.path, described(u), why)
	}
	t, err := o.plannedTemplate(ctx, u)
	out.templates = append(out.templates, t)
	return err
}

// relabelled returns a Cluster with the labels of the file, and its spec if it has one.
func relabelled(ctx context.Context, h *hub.Hub, name string, u *unstructured.Unstructured) (*clusterv1alpha1.Cluster, error) {
	live, err := h.Cluster(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w: only clusters that are joined can be compared", name, err)
	}
	var as clusterv1alpha1.Cluster
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &as); err != nil {
		return nil, fmt.Errorf("decode cluster %s: %w", name, err)
	}
	c := live.DeepCopy()
	c.Labels = as.Labels
	if u.Object["spec"] != nil {
		c.Spec = as.Spec
	}
	return c, nil
}

// stored returns a policy as the hub would store it: validated and defaulted.
func (o *diffOptions) stored(ctx context.Context, u *unstructured.Unstructured) (*propagation.Policy, error) {
	client, err := o.place(u)
	if err != nil {
		return nil, err
	}
	policy, _ := hub.PolicyKeyOf(keyOf(u))
	answer, err := dryRun(ctx, client, u)
	if err != nil {
		return nil, fmt.Errorf("the hub would refuse %s: %w", policyRef(policy), err)
	}
	return policyOf(policy, answer)
}

// dryRun asks the hub what it would store. Like Sluice, it tries again if somebody
// wrote the object meanwhile.
func dryRun(ctx context.Context, client dynamic.ResourceInterface, u *unstructured.Unstructured) (answer *unstructured.Unstructured, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		answer, err = dryRunOnce(ctx, client, u)
		return err
	})
	return answer, err
}

func dryRunOnce(ctx context.Context, client dynamic.ResourceInterface, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	all, strict := []string{metav1.DryRunAll}, metav1.FieldValidationStrict
	old, err := client.Get(ctx, u.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return client.Create(ctx, u, metav1.CreateOptions{DryRun: all, FieldValidation: strict})
	}
	if err != nil {
		return nil, err
	}
	next := old.DeepCopy()
	next.Object["spec"] = u.Object["spec"]
	return client.Update(ctx, next, metav1.UpdateOptions{DryRun: all, FieldValidation: strict})
}

func policyOf(key propagation.PolicyKey, u *unstructured.Unstructured) (*propagation.Policy, error) {
	var o struct {
		Spec policyv1alpha1.PropagationSpec `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &o); err != nil {
		return nil, fmt.Errorf("decode %s: %w", policyRef(key), err)
	}
	now := time.Now()
	return &propagation.Policy{
		Key: key, UID: u.GetUID(), ID: string(u.GetUID()), ResourceVersion: u.GetResourceVersion(), Generation: u.GetGeneration(),
		Created: now, LastUserWrite: now, Spec: o.Spec,
	}, nil
}

// equalChange reports whether the planned policies do to a template only what happens
// anyway.
func equalChange(a, b explaining.Change) bool {
	a.Reason, a.Message, b.Reason, b.Message = "", "", "", ""
	return equality.Semantic.DeepEqual(a, b)
}
