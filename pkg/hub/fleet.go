// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/base64"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/propagation"
)

func decodeCluster(raw []byte) (record[*clusterv1alpha1.Cluster], error) {
	c := &clusterv1alpha1.Cluster{}
	if err := utiljson.Unmarshal(raw, c); err != nil {
		return record[*clusterv1alpha1.Cluster]{}, fmt.Errorf("decode: %w", err)
	}
	c.TypeMeta, c.ManagedFields = clusterKind.typeMeta(), nil
	return recordOf(&c.ObjectMeta, c), nil
}

// Cluster is the member of that name.
func (h *Hub) Cluster(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error) {
	return h.clusters.get(ctx, types.NamespacedName{Name: name})
}

// Clusters are all members, sorted by name.
func (h *Hub) Clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error) {
	return h.clusters.list(ctx, "")
}

// CommitClusterStatus writes the status of the member as it was read.
func (h *Hub) CommitClusterStatus(ctx context.Context, c *clusterv1alpha1.Cluster, status clusterv1alpha1.ClusterStatus) error {
	if equal, err := same(c.Status, status); err != nil || equal {
		return err
	}
	name := types.NamespacedName{Name: c.Name}
	_, err := h.clusters.put(ctx, name, object[struct{}, clusterv1alpha1.ClusterStatus]{
		TypeMeta: clusterKind.typeMeta(), ObjectMeta: identity(name, c.UID, c.ResourceVersion), Status: status,
	}, "status")
	return err
}

// Features are the gates as they are now; the defaults where nobody set any.
func (h *Hub) Features(ctx context.Context) (propagation.Features, error) {
	data, err := h.data(ctx, "ConfigMap", propagation.SystemNamespace, propagation.FeaturesName)
	if err != nil {
		return propagation.Features{}, ignoreGone(err)
	}
	f, _ := propagation.FeaturesFrom(data)
	return f, nil
}

// Secret is the data of a Secret.
func (h *Hub) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	data, err := h.data(ctx, "Secret", namespace, name)
	if err != nil {
		return nil, err
	}
	plain := make(map[string][]byte, len(data))
	for key, value := range data {
		if plain[key], err = base64.StdEncoding.DecodeString(value); err != nil {
			return nil, fmt.Errorf("decode %s of Secret %s/%s: %w", key, namespace, name, err)
		}
	}
	return plain, nil
}

// data is that of a ConfigMap or a Secret, as it stands in JSON.
func (h *Hub) data(ctx context.Context, kind, namespace, name string) (map[string]string, error) {
	t, err := h.Template(ctx, propagation.TemplateKey{APIVersion: "v1", Kind: kind, Namespace: namespace, Name: name})
	if err != nil {
		return nil, err
	}
	values, _ := t.Object["data"].(map[string]any)
	data := make(map[string]string, len(values))
	for key, value := range values {
		data[key], _ = value.(string)
	}
	return data, nil
}

// Namespace is the labels of a namespace.
func (h *Hub) Namespace(ctx context.Context, name string) (labels map[string]string, err error) {
	t, err := h.Template(ctx, propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: name})
	if err != nil {
		return nil, err
	}
	return t.Labels, nil
}
