// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command source tells the broker of what changes on the hub, or in members.
package main

import (
	"log"
	"os"

	"knative.dev/eventing/pkg/adapter/apiserver"
	"knative.dev/eventing/pkg/adapter/v2"
	"knative.dev/eventing/pkg/auth"
	"knative.dev/eventing/pkg/eventingtls"
	filtered "knative.dev/pkg/client/injection/kube/informers/factory/filtered"
	"knative.dev/pkg/signals"

	source "sluice.dev/pkg/source/adapter"
)

func main() {
	ctx := signals.NewContext()
	if os.Getenv(source.Members) != "" {
		ctx, err := source.Unconnected(ctx)
		if err != nil {
			log.Fatal(err)
		}
		adapter.MainWithContext(ctx, source.Name, apiserver.NewEnvConfig, source.NewMembers)
		return
	}
	ctx = adapter.WithInjectorEnabled(ctx)
	ctx = filtered.WithSelectors(ctx, auth.OIDCLabelSelector, eventingtls.TrustBundleLabelSelector)
	adapter.MainWithContext(ctx, source.Name, apiserver.NewEnvConfig, source.New)
}
