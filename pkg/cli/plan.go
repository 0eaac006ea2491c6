// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	placementv1 "sluice.dev/apis/placement/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	"sluice.dev/pkg/cli/explaining"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// drafts are what a file holds.
type drafts struct {
	policies   []*propagation.Policy
	clusters   []*clusterv1alpha1.Cluster
	placements []*placementv1.ClusterResourcePlacement
}

// plan is the policies and placements of a file as the hub would store them, and its
// Clusters.
func (o *diffOptions) plan(ctx context.Context, h *hub.Hub, raw []byte) (out drafts, err error) {
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for {
		var u unstructured.Unstructured
		err := docs.Decode(&u.Object)
		switch {
		case errors.Is(err, io.EOF) && len(out.policies)+len(out.clusters)+len(out.placements) == 0:
			return out, fmt.Errorf("there is no policy in %s, no placement and no Cluster", o.file)
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return out, fmt.Errorf("read %s: %w", o.file, err)
		case len(u.Object) == 0:
			continue
		}
		key := propagation.TemplateKey{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName()}
		if _, ok := hub.PlacementKeyOf(key); ok && key.Name != "" {
			p, err := o.placementOf(ctx, &u)
			if err != nil {
				return out, err
			}
			out.placements = append(out.placements, p)
			continue
		}
		if name, ok := hub.ClusterOf(key); ok {
			c, err := relabelled(ctx, h, name, &u)
			if err != nil {
				return out, err
			}
			out.clusters = append(out.clusters, c)
			continue
		}
		p, err := o.stored(ctx, &u)
		if err != nil {
			return out, err
		}
		out.policies = append(out.policies, p)
	}
}

// relabelled is a Cluster with the labels of a file, and its spec where there is one.
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

// stored is a policy as the hub would store it: checked, and with defaults.
func (o *diffOptions) stored(ctx context.Context, u *unstructured.Unstructured) (*propagation.Policy, error) {
	key := propagation.TemplateKey{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: u.GetName()}
	policy, ok := hub.PolicyKeyOf(key)
	if !ok || u.GetName() == "" {
		return nil, fmt.Errorf("%s holds a %s %q: only policies, placements and Clusters with a name can be compared", o.file, cmp.Or(u.GetKind(), "document without kind"), u.GetName())
	}
	mapping, err := o.mapping(key.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if policy.Scope == propagation.Namespaced {
		namespace, err := o.namespace()
		if err != nil {
			return nil, err
		}
		policy.Namespace = cmp.Or(u.GetNamespace(), namespace)
		u.SetNamespace(policy.Namespace)
	}
	client, err := o.dynamic()
	if err != nil {
		return nil, err
	}
	answer, err := dryRun(ctx, client.Resource(mapping.Resource).Namespace(policy.Namespace), u)
	if err != nil {
		return nil, fmt.Errorf("the hub would refuse %s: %w", policyRef(policy), err)
	}
	return policyOf(policy, answer)
}

// dryRun asks the hub what it would store.
func dryRun(ctx context.Context, client dynamic.ResourceInterface, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
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

// equalChange tells whether the planned policies do to a template only what
// happens anyway.
func equalChange(a, b explaining.Change) bool {
	a.Reason, a.Message, b.Reason, b.Message = "", "", "", ""
	return equality.Semantic.DeepEqual(a, b)
}
