// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	webhookconfig "sluice.dev/config/450-webhook"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/webhook"
	"sluice.dev/pkg/webhookserver"
)

// loopback is where a hub on this machine finds the webhook.
const loopback = "127.0.0.1"

// admission is the webhook in this process. It comes back where it was, with
// the certificate that it had, so that a restart changes nothing on the hub.
// While it is not there, the hub finds nobody and stores what it is given.
type admission struct {
	hub     *hub.Hub
	client  dynamic.Interface
	handler http.Handler
	// name of the configurations, which are made of the manifests.
	name      string
	manifests []*unstructured.Unstructured
	keeper    *webhookserver.Keeper
}

// admit serves the webhook, and returns when the hub has been told of it. Where
// that may not be, the pipeline goes without: nothing relies on the webhook.
func (p *pipeline) admit(ctx context.Context, group *errgroup.Group, cfg *rest.Config, o Options) error {
	if !o.Webhook {
		return nil
	}
	if !onThisMachine(cfg) {
		fmt.Fprintln(o.Out, "policies are neither defaulted nor judged: the hub is on another machine, which wants config/450-webhook")
		return nil
	}
	a, err := newAdmission(p.hub, cfg, webhookserver.Name)
	if err != nil {
		return err
	}
	var l net.Listener
	return p.persist(ctx, func() error {
		if l == nil {
			if l, err = a.listen(ctx); err != nil {
				return err
			}
			group.Go(func() error { return webhookserver.Serve(ctx, l, a.handler, a.keeper.Certificate) })
		}
		err := a.register(ctx, l.Addr().String())
		switch {
		case err == nil:
			group.Go(func() error { a.keep(ctx); return nil })
		case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
			fmt.Fprintln(o.Out, "policies are neither defaulted nor judged:", err)
		default:
			return err
		}
		return nil
	})
}

func newAdmission(h *hub.Hub, cfg *rest.Config, name string) (*admission, error) {
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to the hub: %w", err)
	}
	manifests, err := webhookconfig.Configurations()
	if err != nil {
		return nil, err
	}
	for _, m := range manifests {
		m.SetName(name)
	}
	return &admission{
		hub: h, client: client, handler: webhook.New(h, func() string { return string(uuid.NewUUID()) }),
		name: name, manifests: manifests, keeper: webhookserver.NewKeeper(client, name, time.Now),
	}, nil
}

// listen where the hub looks for the webhook, or anywhere on loopback where
// that is not to be had.
func (a *admission) listen(ctx context.Context) (net.Listener, error) {
	address, err := webhookserver.Registered(ctx, a.client, a.name)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	if host, _, _ := net.SplitHostPort(address); host == loopback {
		if l, err := net.Listen("tcp", address); err == nil {
			return l, nil
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen for the hub: %w", err)
	}
	return l, nil
}

// register tells the hub where the webhook is, and whom to trust there.
func (a *admission) register(ctx context.Context, address string) error {
	if err := a.hub.EnsureNamespace(ctx, propagation.SystemNamespace); err != nil {
		return err
	}
	if err := webhookserver.Register(ctx, a.client, a.manifests, address); err != nil {
		return err
	}
	return a.keeper.Keep(ctx)
}

// keep keeps the certificate until ctx ends.
func (a *admission) keep(ctx context.Context) {
	a.keeper.Run(ctx, func(err error) { function.Logger(ctx).Warn("keep the webhook's certificate", "error", err) })
}

// onThisMachine tells whether the hub can call this process on loopback.
func onThisMachine(cfg *rest.Config) bool {
	u, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
