// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

func decodeCluster(raw []byte) (record[*clusterv1alpha1.Cluster], error) {
	c := &clusterv1alpha1.Cluster{}
	if err := utiljson.Unmarshal(raw, c); err != nil {
		return record[*clusterv1alpha1.Cluster]{}, fmt.Errorf("decode: %w", err)
	}
	c.TypeMeta, c.ManagedFields = clusterKind.TypeMeta(), nil
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
	status.Conditions = conditions.Bound(status.Conditions)
	if equal, err := same(c.Status, status); err != nil || equal {
		return err
	}
	name := types.NamespacedName{Name: c.Name}
	_, err := h.clusters.put(ctx, name, object[struct{}, clusterv1alpha1.ClusterStatus]{
		TypeMeta: clusterKind.TypeMeta(), ObjectMeta: identity(name, c.UID, c.ResourceVersion), Status: status,
	}, "status")
	return err
}

// AnnotateCluster gives the member an annotation, or takes it away where the value
// is empty, if it still is as it was read.
func (h *Hub) AnnotateCluster(ctx context.Context, c *clusterv1alpha1.Cluster, key, value string) (*clusterv1alpha1.Cluster, error) {
	annotations := map[string]any{key: value}
	if value == "" {
		annotations[key] = nil
	}
	patch := map[string]any{"metadata": map[string]any{"annotations": annotations}}
	return h.clusters.patch(ctx, types.NamespacedName{Name: c.Name}, conditional(patch, c.UID, c.ResourceVersion))
}

// IdentifyCluster writes who the member is, if it still is as it was read.
func (h *Hub) IdentifyCluster(ctx context.Context, c *clusterv1alpha1.Cluster, id string) (*clusterv1alpha1.Cluster, error) {
	patch := map[string]any{"spec": map[string]any{"id": id}}
	return h.clusters.patch(ctx, types.NamespacedName{Name: c.Name}, conditional(patch, c.UID, c.ResourceVersion))
}

// ReasonGateNotUnderstood is the reason of a Kubernetes event: a feature gate has a
// value that is not understood, or the ConfigMap of the gates is missing.
const ReasonGateNotUnderstood = "GateNotUnderstood"

// AboutFeatures names the ConfigMap of the gates for Record, whether or not it exists.
func AboutFeatures() About {
	k := propagation.FeaturesKey()
	return About{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
}

// Features are the gates as they are now.
func (h *Hub) Features(ctx context.Context) (propagation.Features, error) {
	f, _, err := h.FeaturesTold(ctx)
	return f, err
}

// FeaturesTold returns the gates as they are now, and what people should be told about
// them: the values that are not understood, or that the ConfigMap is missing. In both
// cases the gates hold changes back.
func (h *Hub) FeaturesTold(ctx context.Context) (f propagation.Features, unknown []string, err error) {
	t, err := h.Template(ctx, propagation.FeaturesKey())
	if errors.Is(err, outcome.ErrGone) {
		t, err = nil, nil
	}
	if err != nil {
		return propagation.Features{}, nil, err
	}
	f, unknown = propagation.FeaturesOf(t)
	return f, unknown, nil
}

// Secret is the data of a Secret.
func (h *Hub) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	t, err := h.Template(ctx, propagation.TemplateKey{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: name})
	if err != nil {
		return nil, err
	}
	values, _ := t.Object["data"].(map[string]any)
	plain := make(map[string][]byte, len(values))
	for key, value := range values {
		text, _ := value.(string)
		if plain[key], err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, fmt.Errorf("decode %s of Secret %s/%s: %w", key, namespace, name, err)
		}
	}
	return plain, nil
}

// Namespace is the labels of a namespace; outcome.ErrGone: there is none.
func (h *Hub) Namespace(ctx context.Context, name string) (labels map[string]string, err error) {
	t, err := h.Template(ctx, propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: name})
	if err != nil {
		return nil, err
	}
	return t.Labels, nil
}

// NamespaceLeaves reports whether a namespace is being deleted, or gone. It always
// reads from the API server: a watch may not have reported yet the very deletion that
// the caller reacts to.
func (h *Hub) NamespaceLeaves(ctx context.Context, name string) (bool, error) {
	t, err := h.LiveTemplate(ctx, propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: name})
	if errors.Is(err, outcome.ErrGone) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return t.Deleting, nil
}
