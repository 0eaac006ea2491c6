// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command source tells the broker of what changes on the hub, or in a member.
package main

import (
	"knative.dev/eventing/pkg/adapter/apiserver"
	"knative.dev/eventing/pkg/adapter/v2"
	"knative.dev/eventing/pkg/auth"
	"knative.dev/eventing/pkg/eventingtls"
	filtered "knative.dev/pkg/client/injection/kube/informers/factory/filtered"
	"knative.dev/pkg/signals"

	source "sluice.dev/pkg/source/adapter"
)

func main() {
	ctx := adapter.WithInjectorEnabled(signals.NewContext())
	ctx = filtered.WithSelectors(ctx, auth.OIDCLabelSelector, eventingtls.TrustBundleLabelSelector)
	adapter.MainWithContext(ctx, source.Name, apiserver.NewEnvConfig, source.New)
}
