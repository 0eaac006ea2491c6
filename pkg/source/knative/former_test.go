// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestAnUpdateRetiresTheTriggersOfMembers: each had one, which asks about each event.
func TestAnUpdateRetiresTheTriggersOfMembers(t *testing.T) {
	trigger := func(name, member, partOf, ready string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "eventing.knative.dev/v1", "kind": "Trigger",
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}},
		}}
		u.SetNamespace("sluice-system")
		u.SetName(name)
		labels := map[string]string{"app.kubernetes.io/part-of": partOf}
		if member != "" {
			labels[labelCluster] = member
		}
		u.SetLabels(labels)
		return u
	}
	former := []runtime.Object{
		trigger("applier-m1", "m1", "sluice", "True"), trigger("applier-m2", "m2", "sluice", "False"),
		trigger("applier-own", "m1", "shop", "True"), trigger("m1-audit", "m1", "sluice", "True"), trigger("gate", "", "sluice", "True"),
		trigger("edge-applier", "m1", "sluice", "True"), // a team's, for a member with an applier of its own
	}
	all := []string{"applier-m1", "applier-m2", "applier-own", "edge-applier", "gate", "m1-audit"}
	for sentence, tc := range map[string]struct {
		has  []runtime.Object
		want []string
	}{
		"those of members go, and nothing else":  {append(slices.Clone(former), trigger("applier", "", "sluice", "True")), []string{"applier", "applier-own", "edge-applier", "gate", "m1-audit"}},
		"not before the one for all is ready":    {append(slices.Clone(former), trigger("applier", "", "sluice", "Unknown")), append([]string{"applier"}, all...)},
		"nor where an update has not brought it": {former, all},
	} {
		t.Run(sentence, func(t *testing.T) {
			client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{triggers: "TriggerList"}, tc.has...)
			s := New(client, nil, catalog{})
			if err := s.retire(t.Context()); err != nil {
				t.Fatal(err)
			}
			list, err := client.Resource(triggers).Namespace("sluice-system").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, u := range list.Items {
				left = append(left, u.GetName())
			}
			slices.Sort(left)
			if d := cmp.Diff(tc.want, left); d != "" {
				t.Errorf("left (-want +got)\n%s", d)
			}
			client.ClearActions()
			if err := s.retire(t.Context()); err != nil {
				t.Fatal(err)
			}
			if asks, done := len(client.Actions()), len(tc.want) < len(tc.has); done == (asks > 0) {
				t.Errorf("a second time: %d requests, and it was done: %v", asks, done)
			}
		})
	}
}

// TestFormerTriggersHinderNoSweep: they deliver twice what is safe twice.
func TestFormerTriggersHinderNoSweep(t *testing.T) {
	s, spec, _ := sources(t)
	refused := 0
	s.client.(*dynamicfake.FakeDynamicClient).PrependReactor("list", "triggers", func(clienttesting.Action) (bool, runtime.Object, error) {
		refused++
		return true, nil, errors.New("triggers is forbidden")
	})
	if _, _, err := s.Follow(t.Context(), []schema.GroupVersionKind{deployments}, false); err != nil || refused == 0 {
		t.Errorf("%d refusals, and %v", refused, err)
	}
	want := []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
	if d := cmp.Diff(want, spec(apiServerSources, "templates")["resources"]); d != "" {
		t.Errorf("watched (-want +got)\n%s", d)
	}
}
