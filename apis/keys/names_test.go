// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package keys_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"sluice.dev/apis/keys"
)

var kinds = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "ConfigMap"},
	{Group: "example.com", Version: "v1", Kind: "Widget"}, {Group: "example.org", Version: "v1", Kind: "Widget"}, {Group: "example.com", Version: "v1", Kind: "Deployment"},
}

// The name of a binding leads back to its template, and to no other, unless it was cut.
func TestTemplatesOfABinding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		k := keys.TemplateKey{
			APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: "shop",
			Name: rapid.StringMatching(`[a-z0-9]([-.a-z0-9]{0,40}[a-z0-9])?(-configmap|-deployment|-0123456789)?`).Draw(t, "name"),
		}
		if d := cmp.Diff([]keys.TemplateKey{k}, keys.TemplatesOf(keys.BindingOf(k), kinds)); d != "" {
			t.Fatal(d)
		}
	})
}

func TestTemplatesOfANameThatTellsNothing(t *testing.T) {
	for sentence, k := range map[string]keys.TemplateKey{
		"it had characters that none of a binding's has": {APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "system:nginx"},
		"its kind is none of those":                      {APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: "nginx"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := keys.TemplatesOf(keys.BindingOf(k), kinds); len(got) > 0 {
				t.Errorf("it may be of %v", got)
			}
		})
	}
}
