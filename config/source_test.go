// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
	"go.uber.org/zap"
	"knative.dev/eventing/pkg/adapter/apiserver"
	"knative.dev/eventing/pkg/eventfilter"
	"knative.dev/eventing/pkg/eventfilter/subscriptionsapi"
	"sigs.k8s.io/yaml"

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
	filter := subscriptionsapi.NewAllFilter(subscriptionsapi.MaterializeFiltersList(zap.NewNop(), adapterConfig(t, "source-hub.yaml").Filters)...)
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
	} {
		t.Run(name, func(t *testing.T) {
			e := event.New()
			e.SetID("1")
			e.SetSource("hub")
			e.SetType(tc.eventType)
			e.SetExtension(events.ExtAPIVersion, tc.apiVersion)
			e.SetExtension(events.ExtKind, tc.kind)
			if told := filter.Filter(t.Context(), e) != eventfilter.FailFilter; told != tc.told {
				t.Errorf("told: %t, want %t", told, tc.told)
			}
		})
	}
}
