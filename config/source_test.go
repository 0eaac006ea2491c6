// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"knative.dev/eventing/pkg/adapter/apiserver"
	"sigs.k8s.io/yaml"

	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"
	sourcesv1 "knative.dev/eventing/pkg/apis/sources/v1"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
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

// Of all that is written into bindings the source hears what a person asks for, and no
// more: to who watches as it does, the binding goes when it is labelled, and comes back.
func TestABindingInWhichSomebodyAsksSeemsToGo(t *testing.T) {
	c, selectors := adapterConfig(t, "source-hub.yaml"), map[string]string{}
	for _, r := range c.Resources {
		selectors[r.GVR.Resource+"."+r.GVR.Group] = r.LabelSelector
	}
	if selectors["resourcebindings.work.karmada.io"] != "!"+propagation.LabelAsked || selectors["clusterresourcebindings.work.karmada.io"] != "!"+propagation.LabelAsked {
		t.Errorf("bindings are watched as %v", selectors)
	}
	l := newLab(t)
	crd, err := os.ReadFile("300-crds/work.karmada.io_resourcebindings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l.apply(bytes.TrimPrefix(crd, []byte("---\n")))
	namespace := l.namespace("")
	binding := "{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {namespace: " + namespace + ", name: b%s}, spec: {resource: {apiVersion: apps/v1, kind: Deployment, name: b}}}"
	l.apply(fmt.Appendf(nil, binding, ""))
	o, err := object(fmt.Appendf(nil, binding, ""))
	if err != nil {
		t.Fatal(err)
	}
	watching, err := of(l.admin, o).Watch(t.Context(), metav1.ListOptions{LabelSelector: selectors["resourcebindings.work.karmada.io"]})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	tells := func(want watch.EventType) {
		t.Helper()
		select {
		case e := <-watching.ResultChan():
			if e.Type != want {
				t.Errorf("it tells %s, want %s", e.Type, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("it does not tell %s", want)
		}
	}
	tells(watch.Added)
	l.apply(fmt.Appendf(nil, binding, ", labels: {"+propagation.LabelAsked+": 'true'}"))
	tells(watch.Deleted)
	l.apply(fmt.Appendf(nil, binding, ", annotations: {a: b}"))
	tells(watch.Added)
}
