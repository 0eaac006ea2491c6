// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"knative.dev/eventing/pkg/adapter/apiserver"
	"sigs.k8s.io/yaml"

	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	sourcesv1 "knative.dev/eventing/pkg/apis/sources/v1"

	events "sluice.dev/apis/events/v1"
)

// adapterConfig is what the source has Knative's adapter watch.
func adapterConfig(t *testing.T, file string) apiserver.Config {
	t.Helper()
	var source sourcesv1.ContainerSource
	if err := yaml.UnmarshalStrict(manifests(t)[file], &source); err != nil {
		t.Fatal(err)
	}
	for _, e := range source.Spec.Template.Spec.Containers[0].Env {
		if e.Name == sourceConfig {
			var c apiserver.Config
			if err := json.Unmarshal([]byte(e.Value), &c); err != nil {
				t.Fatalf("%s of %s: %v", sourceConfig, file, err)
			}
			return c
		}
	}
	t.Fatalf("%s has no %s", file, sourceConfig)
	return apiserver.Config{}
}

func TestOfBindingsAndWorksOnlyDeletionsAreTold(t *testing.T) {
	filters := adapterConfig(t, "source-hub.yaml").Filters
	for name, tc := range map[string]struct {
		eventType, apiVersion, kind string
		told                        bool
	}{
		"a policy that was made":       {events.ResourceAdded, "policy.karmada.io/v1alpha1", "PropagationPolicy", true},
		"a policy that changed":        {events.ResourceUpdated, "policy.karmada.io/v1alpha1", "PropagationPolicy", true},
		"a policy that was deleted":    {events.ResourceDeleted, "policy.karmada.io/v1alpha1", "PropagationPolicy", true},
		"a cluster that changed":       {events.ResourceUpdated, "cluster.karmada.io/v1alpha1", "Cluster", true},
		"a binding that was made":      {events.ResourceAdded, "work.karmada.io/v1alpha2", "ResourceBinding", false},
		"a binding that changed":       {events.ResourceUpdated, "work.karmada.io/v1alpha2", "ResourceBinding", false},
		"a binding that was deleted":   {events.ResourceDeleted, "work.karmada.io/v1alpha2", "ResourceBinding", true},
		"a Work that changed":          {events.ResourceUpdated, "work.karmada.io/v1alpha1", "Work", false},
		"a Work that somebody deletes": {events.ResourceDeleted, "work.karmada.io/v1alpha1", "Work", true},

		"a placement that changed":         {events.ResourceUpdated, "placement.kubernetes-fleet.io/v1", "ClusterResourcePlacement", true},
		"a placement that was deleted":     {events.ResourceDeleted, "placement.kubernetes-fleet.io/v1", "ClusterResourcePlacement", true},
		"a placement's override":           {events.ResourceUpdated, "placement.kubernetes-fleet.io/v1", "ResourceOverride", true},
		"a member as placements see it":    {events.ResourceUpdated, "cluster.kubernetes-fleet.io/v1", "MemberCluster", true},
		"a snapshot that was made":         {events.ResourceAdded, "placement.kubernetes-fleet.io/v1", "ClusterResourceSnapshot", false},
		"a snapshot that somebody deletes": {events.ResourceDeleted, "placement.kubernetes-fleet.io/v1", "ClusterResourceSnapshot", true},
		"a placement's Work that changed":  {events.ResourceUpdated, "placement.kubernetes-fleet.io/v1", "Work", false},
		"a placement's binding that goes":  {events.ResourceDeleted, "placement.kubernetes-fleet.io/v1", "ClusterResourceBinding", true},
	} {
		t.Run(name, func(t *testing.T) {
			e := map[string]string{"type": tc.eventType, events.ExtAPIVersion: tc.apiVersion, events.ExtKind: tc.kind}
			told := len(filters) > 0
			for _, f := range filters {
				told = told && passes(t, f, e)
			}
			if told != tc.told {
				t.Errorf("told: %t, want %t", told, tc.told)
			}
		})
	}
}

// passes evaluates a filter of the Subscriptions API, as far as the sources use
// it: Knative's own reorders itself while it is asked.
func passes(t *testing.T, f eventingv1.SubscriptionsAPIFilter, attributes map[string]string) bool {
	t.Helper()
	switch {
	case f.Not != nil:
		return !passes(t, *f.Not, attributes)
	case len(f.All) > 0:
		return !slices.ContainsFunc(f.All, func(each eventingv1.SubscriptionsAPIFilter) bool { return !passes(t, each, attributes) })
	case len(f.Any) > 0:
		return slices.ContainsFunc(f.Any, func(each eventingv1.SubscriptionsAPIFilter) bool { return passes(t, each, attributes) })
	case len(f.Prefix) > 0:
		for k, v := range f.Prefix {
			if !strings.HasPrefix(attributes[k], v) {
				return false
			}
		}
		return true
	case len(f.Suffix) > 0:
		for k, v := range f.Suffix {
			if !strings.HasSuffix(attributes[k], v) {
				return false
			}
		}
		return true
	case len(f.Exact) > 0:
		for k, v := range f.Exact {
			if attributes[k] != v {
				return false
			}
		}
		return true
	}
	t.Fatalf("this test does not know the filter %+v", f)
	return false
}
