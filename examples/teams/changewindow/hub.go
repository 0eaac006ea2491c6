// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	applyv1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
)

const (
	// configName is the ConfigMap that says when the window is open.
	configName = "changewindow"
	// labelHeld is on the ConfigMaps that remember what waits, one for each
	// template.
	labelHeld = "shop.example.com/held"
	// claimedBy, on a template, is the policy without a namespace that claims it.
	claimedBy = "clusterpropagationpolicy.karmada.io/name"
)

// cluster is the hub's API. Of templates it reads metadata alone.
type cluster struct {
	home      string // namespace of the function
	core      kubernetes.Interface
	templates metadata.Interface
	policies  dynamic.Interface
	kinds     meta.RESTMapper
}

func connect(cfg *rest.Config, home string) (*cluster, error) {
	core, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	templates, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	policies, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	kinds := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(core.Discovery()))
	return &cluster{home: home, core: core, templates: templates, policies: policies, kinds: kinds}, nil
}

// Window is what the ConfigMap says. Whoever changes it is heard with the next
// event or tick.
func (c *cluster) Window(ctx context.Context) (*Window, string, error) {
	cm, err := c.core.CoreV1().ConfigMaps(c.home).Get(ctx, configName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, "there is no ConfigMap " + configName, nil
	}
	if err != nil {
		return nil, "", err
	}
	w, err := Parse(cm.Data["hours"], cm.Data["timezone"])
	if err != nil {
		return nil, err.Error(), nil
	}
	return &w, "", nil
}

// Template is what matters of a template now. Who holds it stands on it.
func (c *cluster) Template(ctx context.Context, d events.Data) (Template, error) {
	gvk := schema.FromAPIVersionAndKind(d.Template.APIVersion, d.Template.Kind)
	m, err := c.kinds.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return Template{Deleted: true}, nil // with its kind
	}
	if err != nil {
		return Template{}, err
	}
	t, err := c.templates.Resource(m.Resource).Namespace(d.Template.Namespace).Get(ctx, d.Template.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && t.DeletionTimestamp != nil {
		return Template{Deleted: true}, nil
	}
	if err != nil {
		return Template{}, err
	}
	suspended, err := c.suspended(ctx, t.Annotations)
	return Template{Suspended: suspended}, err
}

// suspended tells whether the policy that claims a template holds back every
// member.
func (c *cluster) suspended(ctx context.Context, claim map[string]string) (bool, error) {
	resource, namespace, policy := "propagationpolicies", claim[policyv1alpha1.AnnotationPropagationPolicyNamespace], claim[policyv1alpha1.AnnotationPropagationPolicyName]
	if other := claim[claimedBy]; other != "" {
		resource, namespace, policy = "clusterpropagationpolicies", "", other
	}
	if policy == "" {
		return false, nil
	}
	u, err := c.policies.Resource(policyv1alpha1.SchemeGroupVersion.WithResource(resource)).Namespace(namespace).Get(ctx, policy, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get its policy %s: %w", policy, err)
	}
	var p struct {
		Spec struct {
			Suspension policyv1alpha1.Suspension `json:"suspension"`
		} `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &p); err != nil {
		return false, fmt.Errorf("read its policy %s: %w", policy, err)
	}
	all, _ := p.Spec.Suspension.Dispatch()
	return all, nil
}

// Hold writes the record of a template. The same event again changes nothing.
func (c *cluster) Hold(ctx context.Context, h Waiting) error {
	template, err := encode(h.Data)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(template))
	cm := applyv1.ConfigMap("held-"+hex.EncodeToString(sum[:8]), c.home).
		WithLabels(map[string]string{labelHeld: "true"}).
		WithData(map[string]string{"about": template, "event": h.Event, "why": h.Why})
	_, err = c.core.CoreV1().ConfigMaps(c.home).Apply(ctx, cm, metav1.ApplyOptions{FieldManager: name, Force: true})
	return err
}

// Waiting reads the records.
func (c *cluster) Waiting(ctx context.Context, limit int64) ([]Waiting, error) {
	list, err := c.core.CoreV1().ConfigMaps(c.home).List(ctx, metav1.ListOptions{LabelSelector: labelHeld, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("list what waits: %w", err)
	}
	var all []Waiting
	for _, cm := range list.Items {
		h := Waiting{Event: cm.Data["event"], Why: cm.Data["why"], Record: cm.Name, Version: cm.ResourceVersion}
		if err := json.Unmarshal([]byte(cm.Data["about"]), &h.Data); err != nil || h.Data.Template == nil {
			continue // somebody else's
		}
		all = append(all, h)
	}
	return all, nil
}

// Forget deletes a record in the version that was read.
func (c *cluster) Forget(ctx context.Context, h Waiting) error {
	err := c.core.CoreV1().ConfigMaps(c.home).Delete(ctx, h.Record, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{ResourceVersion: &h.Version},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
