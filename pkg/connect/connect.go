// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package connect gives a function what it works with, from its environment:
//
//	KUBECONFIG     the hub, as a file; empty: the cluster that the function is in
//	REDIS_ADDRESS  the Redis, as host:port or as a URL (rediss:// for TLS)
//	REDIS_PASSWORD that of host:port, where it has one; a URL has its own
//
// The members' credentials and Knative's sources are in the cluster that the
// function is in, also where the hub is another one.
//
// Invariant: a function has credentials only for what it asks for here.
//
// It must not be used by anything but functions.
package connect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/source/knative"
)

// Hub connects to the hub and watches the small kinds that are named: what
// changes slowly and is read often. All else is read live.
func Hub(ctx context.Context, watched ...schema.GroupVersionKind) (*hub.Hub, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, fmt.Errorf("find the hub (KUBECONFIG): %w", err)
	}
	h, err := hub.Connect(cfg)
	if err != nil {
		return nil, err
	}
	for _, gvk := range watched {
		if err := h.Watch(ctx, gvk, func(hub.Change) {}); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Members finds the members that are on the hub, with their credentials.
func Members(h *hub.Hub) (*member.Fleet, error) {
	if os.Getenv("KUBECONFIG") == "" {
		return member.NewFleet(h), nil
	}
	cfg, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return member.NewFleet(h), nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the cluster's own API: %w", err)
	}
	own, err := hub.Connect(cfg)
	if err != nil {
		return nil, err
	}
	return member.NewFleet(apart{h, own}), nil
}

// apart finds clusters on the hub, and their credentials in another cluster.
type apart struct {
	*hub.Hub
	own *hub.Hub
}

// Secret is one of the function's own cluster.
func (a apart) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	return a.own.Secret(ctx, namespace, name)
}

// sources are what tells of changes.
type sources interface {
	Follow(ctx context.Context, kinds []schema.GroupVersionKind, keep bool) (selector string, changed bool, err error)
}

// none stands for the sources where a function does not run in a cluster:
// somebody else looks after them.
type none struct{}

func (none) Follow(context.Context, []schema.GroupVersionKind, bool) (string, bool, error) {
	return "", false, nil
}

// Sources are those of the cluster that the function is in, if it is in one.
func Sources(h *hub.Hub) (sources, error) { //nolint:revive // what it is depends on where the function runs
	s, err := knative.InCluster(h)
	if errors.Is(err, rest.ErrNotInCluster) {
		return none{}, nil
	}
	return s, err
}

// Rights are those of the functions' accounts on the hub.
func Rights(h *hub.Hub) (*knative.Rights, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, fmt.Errorf("find the hub (KUBECONFIG): %w", err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the hub: %w", err)
	}
	return knative.NewRights(client.AuthorizationV1().SubjectAccessReviews(), h, time.Now), nil
}

// Redis connects to the Redis.
func Redis() (redis.UniversalClient, error) {
	address := os.Getenv("REDIS_ADDRESS")
	if address == "" {
		return nil, errors.New("REDIS_ADDRESS is empty: name the Redis as host:port")
	}
	if !strings.Contains(address, "://") {
		return redis.NewClient(&redis.Options{Addr: address, Password: os.Getenv("REDIS_PASSWORD")}), nil
	}
	opts, err := redis.ParseURL(address)
	if err != nil {
		return nil, fmt.Errorf("REDIS_ADDRESS: %w", err)
	}
	return redis.NewClient(opts), nil
}
