// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// Source provides clusters and their credentials. It returns outcome.ErrGone for what
// does not exist.
type Source interface {
	Cluster(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error)
	Secret(ctx context.Context, namespace, name string) (map[string][]byte, error)
	// Alike returns the other versions of the kind that the hub serves with the same
	// fields.
	Alike(ctx context.Context, gvk schema.GroupVersionKind) ([]string, error)
}

// recheck is how long working credentials are used before they are compared with the
// stored ones.
const recheck = 30 * time.Second

// Fleet has one Client for each cluster, which is replaced when its endpoint or
// credentials change.
type Fleet struct {
	src Source
	now func() time.Time

	mu      sync.Mutex
	members map[string]*known
}

// known is a client, with what it was made from.
type known struct {
	client     *Client
	uid        types.UID
	generation int64
	hash       string
	checked    time.Time
	// id is the cluster's spec.id once the client is known to reach that cluster.
	id string
}

// NewFleet returns a fleet without members.
func NewFleet(src Source) *Fleet {
	return &Fleet{src: src, now: time.Now, members: map[string]*known{}}
}

// Client returns the client of the cluster. It returns outcome.ErrGone if the cluster
// is not joined, and Unreachable if the client cannot be made or reaches Another. The
// credentials of a client that failed are checked at the next call, those of others
// from time to time.
func (f *Fleet) Client(ctx context.Context, cluster string) (*Client, error) {
	c, err := f.src.Cluster(ctx, cluster)
	if errors.Is(err, outcome.ErrGone) {
		f.Forget(cluster)
	}
	if err != nil {
		return nil, fmt.Errorf("get cluster %s: %w", cluster, err)
	}
	if client := f.trusted(c); client != nil {
		return client, nil
	}
	var secret map[string][]byte
	if ref := c.Spec.SecretRef; ref != nil {
		if secret, err = f.src.Secret(ctx, ref.Namespace, ref.Name); errors.Is(err, outcome.ErrGone) {
			return nil, &Unreachable{cluster, fmt.Errorf("secret %s/%s does not exist: 'kubectl sluice join %s --cluster-kubeconfig FILE' makes it again", ref.Namespace, ref.Name, cluster)}
		}
		if err != nil {
			return nil, fmt.Errorf("get secret %s/%s of cluster %s: %w", ref.Namespace, ref.Name, cluster, err)
		}
	}
	client, err := f.renew(c, secret)
	if err != nil {
		return nil, err
	}
	return f.identified(ctx, c, client)
}

// trusted returns the cluster's client if its credentials need no check; otherwise nil.
func (f *Fleet) trusted(c *clusterv1alpha1.Cluster) *Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.members[c.Name]
	if k == nil || k.uid != c.UID || c.Spec.ID != "" && k.id != c.Spec.ID || k.generation != c.Generation || k.client.doubted.Load() || f.now().Sub(k.checked) > recheck {
		return nil
	}
	return k.client
}

// renew keeps the client if endpoint and credentials are unchanged, and replaces it
// otherwise.
func (f *Fleet) renew(c *clusterv1alpha1.Cluster, secret map[string][]byte) (*Client, error) {
	hash := propagation.HashJSON([]any{c.Spec.APIEndpoint, c.Spec.ProxyURL, c.Spec.ProxyHeader, c.Spec.InsecureSkipTLSVerification, secret})
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.members[c.Name]
	if k == nil || k.hash != hash {
		client, err := newClient(c, secret, f.src)
		if err != nil {
			return nil, &Unreachable{c.Name, err}
		}
		if k != nil {
			k.client.retire()
		}
		k = &known{client: client, hash: hash}
		f.members[c.Name] = k
	}
	k.client.doubted.Store(false)
	k.uid, k.generation, k.checked = c.UID, c.Generation, f.now()
	return k.client, nil
}

// Forget drops the cluster's client and ends its watches.
func (f *Fleet) Forget(cluster string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if k := f.members[cluster]; k != nil {
		k.client.retire()
		delete(f.members, cluster)
	}
}
