// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
)

// Another says that the credentials of a cluster reach another cluster than its spec.id
// says, which is the uid of the member's namespace kube-system. Nothing is read from
// that cluster or written to it.
type Another struct{ Want, Got string }

// Error says what to correct.
func (a *Another) Error() string {
	return fmt.Sprintf("its credentials lead to another cluster: the uid of namespace kube-system there is %s, and spec.id is %s; "+
		"correct the Secret, or spec.id where the cluster was built anew", a.Got, a.Want)
}

// identified returns the client once it is known to reach the cluster that c means;
// each client is checked once. If the member does not let its identity be read, the
// check is skipped.
func (f *Fleet) identified(ctx context.Context, c *clusterv1alpha1.Cluster, client *Client) (*Client, error) {
	want := c.Spec.ID
	if want == "" || f.isKnown(client, want) {
		return client, nil
	}
	got, err := client.identity(ctx)
	if err != nil {
		return nil, err
	}
	if got != "" && got != want {
		return nil, client.unreachable(&Another{want, got})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if k := f.members[c.Name]; k != nil && k.client == client {
		k.id = want
	}
	return client, nil
}

// Identity returns the uid of the member's namespace kube-system; empty: it has none, or
// does not let it be read.
func (f *Fleet) Identity(ctx context.Context, cluster string) (string, error) {
	client, err := f.Client(ctx, cluster)
	if err != nil {
		return "", err
	}
	id, err := client.identity(ctx)
	if id == nobody {
		id = ""
	}
	return id, err
}

func (f *Fleet) isKnown(client *Client, id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.members[client.name]
	return k != nil && k.client == client && k.id == id
}

// nobody is the identity of a cluster without a namespace kube-system, which no spec.id
// is.
const nobody = "none"

// identity returns the uid of the member's namespace kube-system; empty: the member
// does not let it be read. A cluster without such a namespace returns nobody.
func (c *Client) identity(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	raw, err := c.plain.Get().AbsPath("/api/v1/namespaces", metav1.NamespaceSystem).SetHeader("Accept", "application/json").DoRaw(ctx)
	switch {
	case apierrors.IsForbidden(err):
		return "", nil
	case apierrors.IsNotFound(err):
		return nobody, nil
	case err != nil:
		return "", c.classify(ctx, err, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "")
	}
	var namespace metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &namespace); err != nil {
		return "", c.unreachable(fmt.Errorf("decode namespace %s: %w", metav1.NamespaceSystem, err))
	}
	return string(namespace.UID), nil
}
