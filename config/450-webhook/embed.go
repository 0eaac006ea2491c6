// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

// Package webhook holds the webhook configurations that are applied with this
// folder, for programs that serve the webhook themselves.
//
// Invariant: what is embedded is what is applied, byte for byte.
//
// It must not hold any manifest in Go.
package webhook

import (
	"bytes"
	_ "embed"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed configurations.yaml
var manifests []byte

// Configurations are the webhook configurations, each call's its own.
func Configurations() ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, manifest := range bytes.Split(manifests, []byte("\n---\n")) {
		raw, err := yaml.YAMLToJSON(manifest)
		if err != nil {
			return nil, fmt.Errorf("configurations.yaml: %w", err)
		}
		c := &unstructured.Unstructured{}
		if err := c.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("configurations.yaml: %w", err)
		}
		all = append(all, c)
	}
	return all, nil
}
