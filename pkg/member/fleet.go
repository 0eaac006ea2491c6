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

// Source is where clusters and their credentials are found. What does not exist
// is outcome.ErrGone.
type Source interface {
	Cluster(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error)
	Secret(ctx context.Context, namespace, name string) (map[string][]byte, error)
	// Alike is in which other versions the hub serves the kind, where these differ
	// in nothing but their name.
	Alike(ctx context.Context, gvk schema.GroupVersionKind) ([]string, error)
}

// recheck is how long credentials that work are trusted to be the present ones.
const recheck = 30 * time.Second

// Fleet has one Client for each cluster, as long as the way to reach it stays
// the same.
type Fleet struct {
	src Source
	now func() time.Time

	mu      sync.Mutex
	members map[string]*known
}

// known is a client, and what it was made from.
type known struct {
	client     *Client
	uid        types.UID
	generation int64
	hash       string
	checked    time.Time
	// id is the cluster's spec.id once the client was found to lead there.
	id string
}

// NewFleet makes a fleet without members.
func NewFleet(src Source) *Fleet {
	return &Fleet{src: src, now: time.Now, members: map[string]*known{}}
}

// Client is the client of the cluster: outcome.ErrGone where it is not joined,
// Unreachable where it cannot be made, or leads to Another. A client that cannot do its
// job is looked after at the next call, others now and then.
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
			return nil, &Unreachable{cluster, fmt.Errorf("secret %s/%s does not exist", ref.Namespace, ref.Name)}
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

// trusted is the cluster's client if nothing asks for a look at its credentials.
func (f *Fleet) trusted(c *clusterv1alpha1.Cluster) *Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.members[c.Name]
	if k == nil || k.uid != c.UID || c.Spec.ID != "" && k.id != c.Spec.ID || k.generation != c.Generation || k.client.doubted.Load() || f.now().Sub(k.checked) > recheck {
		return nil
	}
	return k.client
}

// renew keeps the client if it is made of the same, and replaces it otherwise.
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
