// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Command webhook defaults and validates policies before the hub stores them.
package main

import (
	"net/http"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/webhook"
	"sluice.dev/pkg/webhookserver"
)

func main() {
	webhookserver.Main(func(cfg *rest.Config) (http.Handler, error) {
		h, err := hub.Connect(cfg)
		if err != nil {
			return nil, err
		}
		return webhook.New(h, func() string { return string(uuid.NewUUID()) }), nil
	})
}
