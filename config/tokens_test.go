// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// With tokens, each function asks the API server how they are signed, and starts only
// when it knows: the one that takes dead letters, too, without which no Broker is ready.
func TestZ35WithTokensEachFunctionCanVerifyThem(t *testing.T) {
	without, functions := map[string]bool{}, map[string]string{}
	for _, d := range render(t, "oidc") {
		switch d.Kind {
		case "ServiceAccount":
			var a corev1.ServiceAccount
			d.into(t, &a)
			without[a.Name] = a.AutomountServiceAccountToken != nil && !*a.AutomountServiceAccountToken
		case "Service":
			if d.APIVersion == "serving.knative.dev/v1" {
				var s struct {
					Spec struct{ Template struct{ Spec corev1.PodSpec } }
				}
				if err := yaml.Unmarshal(d.raw, &s); err != nil {
					t.Fatal(err)
				}
				functions[d.Metadata.Name] = s.Spec.Template.Spec.ServiceAccountName
			}
		}
	}
	if functions["deadletter"] == "" || len(functions) < 10 {
		t.Fatalf("these functions were looked at: %v", functions)
	}
	for function, account := range functions {
		if without[account] {
			t.Errorf("%s runs as %s, which has no token: it cannot ask how tokens are signed, and never starts", function, account)
		}
	}
}
