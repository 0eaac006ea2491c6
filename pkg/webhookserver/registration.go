// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"sluice.dev/pkg/core/propagation"
)

// configurations are where API servers are told of webhooks.
var configurations = []schema.GroupVersionResource{
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
}

// Register tells the hub's API servers to call the webhook at the address
// (host:port). The manifests are webhook configurations that are written for a
// Service; they replace what the hub has under their names. What API servers
// trust there is Keep's, afterwards.
func Register(ctx context.Context, client dynamic.Interface, manifests []*unstructured.Unstructured, address string) error {
	for _, m := range manifests {
		m = m.DeepCopy()
		err := eachClient(m, func(c map[string]any) {
			path, _, _ := unstructured.NestedString(c, "service", "path")
			delete(c, "service")
			c["url"] = (&url.URL{Scheme: "https", Host: address, Path: path}).String()
		})
		if err != nil {
			return err
		}
		resource, _ := meta.UnsafeGuessKindToResource(m.GroupVersionKind()) // right for both kinds
		err = retry.OnError(retry.DefaultBackoff, lost, func() error { return replace(ctx, client.Resource(resource), m) })
		if err != nil {
			return fmt.Errorf("register the webhook: %w", err)
		}
	}
	return nil
}

// replace makes m, or puts it in the place of what has its name and says
// anything else.
func replace(ctx context.Context, client dynamic.ResourceInterface, m *unstructured.Unstructured) error {
	found, err := client.Get(ctx, m.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(ctx, m, metav1.CreateOptions{FieldManager: propagation.FieldManager})
		return err
	}
	if err != nil || equality.Semantic.DeepDerivative(m.Object["webhooks"], found.Object["webhooks"]) {
		return err
	}
	m.SetResourceVersion(found.GetResourceVersion())
	_, err = client.Update(ctx, m, metav1.UpdateOptions{FieldManager: propagation.FieldManager})
	return err
}

// Registered is the address (host:port) that Register told last; empty: none.
func Registered(ctx context.Context, client dynamic.Interface, name string) (address string, err error) {
	c, err := client.Resource(configurations[0]).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get the webhook configuration: %w", err)
	}
	err = eachClient(c, func(client map[string]any) {
		raw, _, _ := unstructured.NestedString(client, "url")
		if u, err := url.Parse(raw); err == nil {
			address = u.Host
		}
	})
	return address, err
}

// lost tells whether somebody else was faster.
func lost(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// eachClient calls f for how each webhook of a configuration is called, and
// keeps what f changes.
func eachClient(configuration *unstructured.Unstructured, f func(clientConfig map[string]any)) error {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return fmt.Errorf("%s %s: %w", configuration.GetKind(), configuration.GetName(), err)
	}
	for _, w := range webhooks {
		w, _ := w.(map[string]any)
		if c, ok := w["clientConfig"].(map[string]any); ok {
			f(c)
		}
	}
	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}

// hosts are the names by which the configurations call the webhook, sorted.
func hosts(configurations []*unstructured.Unstructured) ([]string, error) {
	var hosts []string
	for _, c := range configurations {
		err := eachClient(c, func(client map[string]any) {
			if raw, _, _ := unstructured.NestedString(client, "url"); raw != "" {
				if u, err := url.Parse(raw); err == nil {
					hosts = append(hosts, u.Hostname())
				}
				return
			}
			name, _, _ := unstructured.NestedString(client, "service", "name")
			namespace, _, _ := unstructured.NestedString(client, "service", "namespace")
			hosts = append(hosts, name+"."+namespace+".svc")
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts), nil
}

// trust writes the bundle into a configuration, and tells whether that changed
// anything.
func trust(configuration *unstructured.Unstructured, bundle []byte) (changed bool, err error) {
	want := base64.StdEncoding.EncodeToString(bundle)
	err = eachClient(configuration, func(client map[string]any) {
		if client["caBundle"] != want {
			client["caBundle"], changed = want, true
		}
	})
	return changed, err
}
