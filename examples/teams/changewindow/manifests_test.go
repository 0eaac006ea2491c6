// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	eventingv1alpha1 "knative.dev/eventing/pkg/apis/eventing/v1alpha1"
	"knative.dev/eventing/pkg/apis/feature"
	sourcesv1 "knative.dev/eventing/pkg/apis/sources/v1"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/yaml"
)

// TestManifestsPassKnativesValidation looks at the manifests of all examples, in
// the folder above.
func TestManifestsPassKnativesValidation(t *testing.T) {
	of := map[string]func() apis.Validatable{
		"Trigger":     func() apis.Validatable { return &eventingv1.Trigger{} },
		"PingSource":  func() apis.Validatable { return &sourcesv1.PingSource{} },
		"SinkBinding": func() apis.Validatable { return &sourcesv1.SinkBinding{} },
		"EventPolicy": func() apis.Validatable { return &eventingv1alpha1.EventPolicy{} },
	}
	ctx := feature.ToContext(t.Context(), feature.Flags{feature.OIDCAuthentication: feature.Enabled})
	seen := map[string]bool{}
	for _, pattern := range []string{"../*.yaml", "../*/*.yaml", "../*/oidc/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, raw := range bytes.Split(text, []byte("\n---\n")) {
				var meta struct{ Kind string }
				if err := yaml.Unmarshal(raw, &meta); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				if of[meta.Kind] == nil {
					continue
				}
				o := of[meta.Kind]()
				if err := yaml.UnmarshalStrict(raw, o); err != nil {
					t.Errorf("%s: %v", file, err)
				} else if err := o.Validate(ctx); err != nil {
					t.Errorf("%s: %v", file, err)
				}
				seen[meta.Kind] = true
			}
		}
	}
	if len(seen) != len(of) {
		t.Errorf("saw only %v: a test that looks at nothing proves nothing", seen)
	}
}
