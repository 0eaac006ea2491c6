// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package config holds the manifests that `ko apply -R -f config/` applies, for
// the programs that need them: standalone routes its events with the very
// Triggers of 600-eventing.
//
// Invariants:
//   - What is embedded is what is applied, byte for byte.
//   - A filter names only types of apis/events/v1, a subscriber only a stage.
//
// It must not hold any manifest in Go, nor import anything of Sluice outside
// tests.
package config

import (
	"bytes"
	"embed"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	"sigs.k8s.io/yaml"
)

// Eventing holds the folder 600-eventing: Broker, Triggers and sources.
//
//go:embed 600-eventing
var Eventing embed.FS

//go:embed 600-eventing/trigger-applier.yaml.tmpl
var applierTrigger []byte

// ApplierTrigger makes the Trigger that brings one member what it shall get.
func ApplierTrigger(cluster string) (eventingv1.Trigger, error) {
	var t eventingv1.Trigger
	if errs := validation.IsDNS1123Label(cluster); len(errs) > 0 {
		return t, fmt.Errorf("cluster %q: %s", cluster, strings.Join(errs, "; "))
	}
	manifest := bytes.ReplaceAll(applierTrigger, []byte("CLUSTER"), []byte(cluster))
	if err := yaml.UnmarshalStrict(manifest, &t); err != nil {
		return t, fmt.Errorf("applier trigger of %s: %w", cluster, err)
	}
	return t, nil
}
