// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package adapter is the receive adapter of Knative's ApiServerSource, for the
// ContainerSources that tell of the hub, and of several members each: its events carry
// the token that Knative keeps in the pod for the broker. Knative's own adapter asks
// for that token where its kubeconfig leads, which is the member.
//
// Invariants:
//   - What is watched, and what is told of it, is Knative's adapter's alone, except
//     that a group which the cluster does not serve keeps it from nothing else, and that
//     of a member what the hub itself made is left out.
//   - No member waits for another one, and none costs more than a member may.
//
// It must not hold content of objects: the adapter runs in Reference mode.
package adapter

import (
	"context"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/protocol"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
	"k8s.io/client-go/kubernetes"
	"knative.dev/eventing/pkg/adapter/apiserver"
	"knative.dev/eventing/pkg/adapter/v2"
	kubeclient "knative.dev/pkg/client/injection/kube/client"

	"sluice.dev/pkg/function/token"
)

// Name of the program, and of the adapter's metrics.
const Name = "source"

// New is Knative's adapter, as adapter.MainWithContext makes it.
func New(ctx context.Context, env adapter.EnvConfigAccessor, broker cloudevents.Client) adapter.Adapter {
	cluster := newLenient(kubeclient.Get(ctx))
	ctx = context.WithValue(ctx, kubeclient.Key{}, kubernetes.Interface(cluster))
	return &ending{apiserver.NewAdapter(ctx, env, bearer{broker, token.File}), cluster, lookAgain}
}

// bearer sends with the token in a file.
type bearer struct {
	cloudevents.Client
	file string
}

// Send shows the token, if there is one.
func (b bearer) Send(ctx context.Context, e event.Event) protocol.Result {
	header := cehttp.HeaderFrom(ctx)
	token.Show(header, b.file)
	return b.Client.Send(cehttp.WithCustomHeader(ctx, header), e)
}
