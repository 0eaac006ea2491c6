// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	"sluice.dev/pkg/core/mirroring"
)

// The media type that requests all kinds in one answer.
const (
	aggregated     = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
	aggregatedKind = "APIGroupDiscoveryList"
)

// discovered is the part of such an answer that is used.
type discovered struct {
	Kind  string `json:"kind"`
	Items []struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Versions []struct {
			Version   string `json:"version"`
			Freshness string `json:"freshness"`
			Resources []struct {
				Resource     string   `json:"resource"`
				Scope        string   `json:"scope"`
				Verbs        []string `json:"verbs"`
				ResponseKind *struct {
					Kind string `json:"kind"`
				} `json:"responseKind"`
			} `json:"resources"`
		} `json:"versions"`
	} `json:"items"`
}

// Kinds returns the kinds that a cluster serves, with two requests. It is an error if
// the cluster is older than Kubernetes 1.26, which cannot list all kinds at once.
func (f *Fleet) Kinds(ctx context.Context, cluster string) (*mirroring.Kinds, error) {
	c, err := f.Client(ctx, cluster)
	if err != nil {
		return nil, err
	}
	k := &mirroring.Kinds{}
	for _, path := range []string{"/api", "/apis"} {
		if err := c.discover(ctx, path, k); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// below returns what is served below the path.
func (c *Client) below(ctx context.Context, path string) (d discovered, err error) {
	raw, err := c.list(ctx, path)
	if err != nil {
		return d, c.classify(ctx, err, schema.GroupVersionKind{}, "")
	}
	return c.listed(path, raw)
}

// list requests what is served below the path.
func (c *Client) list(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return c.plain.Get().AbsPath(path).SetHeader("Accept", aggregated).DoRaw(ctx)
}

// listed decodes the answer to a request for what is served below the path.
func (c *Client) listed(path string, raw []byte) (d discovered, err error) {
	if err := json.Unmarshal(raw, &d); err != nil {
		return d, c.unreachable(fmt.Errorf("decode %s: %w", path, err))
	}
	if d.Kind != aggregatedKind {
		return d, fmt.Errorf("%s answers %s with a %s: it is too old to list all kinds at once", c.name, path, d.Kind)
	}
	return d, nil
}

// discover adds what is served below the path to k.
func (c *Client) discover(ctx context.Context, path string, k *mirroring.Kinds) error {
	d, err := c.below(ctx, path)
	if err != nil {
		return err
	}
	for _, g := range d.Items {
		for _, v := range g.Versions {
			e := clusterv1alpha1.APIEnablement{GroupVersion: schema.GroupVersion{Group: g.Metadata.Name, Version: v.Version}.String()}
			k.Partial = k.Partial || v.Freshness == "Stale"
			for _, r := range v.Resources {
				if r.ResponseKind != nil {
					e.Resources = append(e.Resources, clusterv1alpha1.APIResource{Name: r.Resource, Kind: r.ResponseKind.Kind})
				}
			}
			k.Served = append(k.Served, e)
		}
	}
	return nil
}
