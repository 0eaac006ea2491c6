// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestNobodyWaitsForTheWebhook(t *testing.T) {
	all, err := Configurations()
	if err != nil || len(all) != 2 {
		t.Fatalf("%d configurations, %v; want 2", len(all), err)
	}
	paths := map[string]string{"MutatingWebhookConfiguration": "/mutate", "ValidatingWebhookConfiguration": "/validate"}
	for _, u := range all {
		// Both kinds have all the fields that are looked at.
		var c admissionregistrationv1.ValidatingWebhookConfiguration
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &c); err != nil {
			t.Fatal(err)
		}
		path := paths[c.Kind]
		delete(paths, c.Kind)
		if c.Name != "sluice" || len(c.Webhooks) == 0 {
			t.Fatalf("%s %s has %d webhooks, want sluice with some", c.Kind, c.Name, len(c.Webhooks))
		}
		for _, w := range c.Webhooks {
			check(t, w, path)
		}
	}
}

// check checks one webhook of a configuration.
func check(t *testing.T, w admissionregistrationv1.ValidatingWebhook, path string) {
	t.Helper()
	if *w.FailurePolicy != admissionregistrationv1.Ignore || *w.TimeoutSeconds > 3 {
		t.Errorf("%s: failurePolicy %s and %d s, want Ignore and 3 s at most", w.Name, *w.FailurePolicy, *w.TimeoutSeconds)
	}
	if *w.SideEffects != admissionregistrationv1.SideEffectClassNone || *w.MatchPolicy != admissionregistrationv1.Equivalent {
		t.Errorf("%s: sideEffects %s, matchPolicy %s", w.Name, *w.SideEffects, *w.MatchPolicy)
	}
	if s := w.ClientConfig.Service; *s.Path != path || s.Name != "webhook" || s.Namespace != "sluice-system" {
		t.Errorf("%s: calls %+v", w.Name, s)
	}
	named := func(r admissionregistrationv1.RuleWithOperations) bool {
		return slices.ContainsFunc(r.Resources, func(s string) bool {
			return s == "clusterpropagationpolicies" || s == "clusterresourceplacements" || s == "resourceinterpreters"
		})
	}
	if !slices.ContainsFunc(w.Rules, named) {
		t.Errorf("%s: rules %+v", w.Name, w.Rules)
	}
	for _, rule := range w.Rules {
		for _, r := range rule.Resources {
			if strings.Contains(r, "/") {
				t.Errorf("%s: what Sluice itself writes, %s, is none of its business", w.Name, r)
			}
		}
	}
}
