// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// The hub is the Knative cluster, guarded: its Deployment runs in the members
// alone, and its status is what they report.
func TestQuickstart(t *testing.T) {
	w := newWorld(t)
	w.apply(configMaps, "configmap.yaml", nil)
	w.apply(policies, "policy.yaml", nil)
	for _, replicas := range []int64{2, 3} {
		w.apply(deployments, "deployment.yaml", func(u *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(u.Object, replicas, "spec", "replicas"); err != nil {
				t.Fatal(err)
			}
		})
		w.eventually(recovery, func() string {
			hub := w.must(w.hub.Resource(deployments).Namespace(w.namespace).Get(t.Context(), "nginx", metav1.GetOptions{}))
			available := w.number(hub, "status", "availableReplicas")
			if want := 3 * replicas; available != want { // every member that has joined
				return fmt.Sprintf("the hub tells of %d available replicas, want %d", available, want)
			}
			return ""
		})
	}
	for _, m := range members {
		w.must(w.members[m].Resource(configMaps).Namespace(w.namespace).Get(t.Context(), "nginx-pages", metav1.GetOptions{}))
	}
	for _, r := range []schema.GroupVersionResource{pods, replicaSets} {
		list, err := w.hub.Resource(r).Namespace(w.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 0 {
			t.Errorf("the hub runs %d %s itself, %v", len(list.Items), r.Resource, err)
		}
	}
	w.eventually(recovery, w.unknownHub)
}

// unknownHub says which source of members does not know which hub this is, and so tells of
// what the hub itself writes in them; empty: each knows.
func (w *world) unknownHub() string {
	w.Helper()
	hub := w.must(w.hub.Resource(namespaces).Get(w.Context(), metav1.NamespaceSystem, metav1.GetOptions{})).GetUID()
	all, err := w.hub.Resource(containerSources).Namespace(system).List(w.Context(), metav1.ListOptions{LabelSelector: "sluice.dev/source=members"})
	if err != nil || len(all.Items) == 0 {
		return fmt.Sprintf("%d sources tell of members, %v", len(all.Items), err)
	}
	for _, source := range all.Items {
		raw, err := source.MarshalJSON()
		if err != nil || !strings.Contains(string(raw), fmt.Sprintf(`\"hub\":\"%s\"`, hub)) {
			return source.GetName() + " does not know which hub this is"
		}
	}
	return ""
}

// unwell is how long it may take until somebody is told that what was applied is not
// healthy, and the box for the events until then.
const unwell = 20 * time.Second

// What never becomes healthy is told as applied, with its health, and not with the next
// sweep only.
func TestZ30NeverHealthy(t *testing.T) {
	w := newWorld(t)
	w.apply(configMaps, "configmap.yaml", nil)
	w.apply(policies, "policy.yaml", nil)
	w.eventually(recovery, func() string { // its namespace is watched
		_, err := w.members[members[0]].Resource(configMaps).Namespace(w.namespace).Get(t.Context(), "nginx-pages", metav1.GetOptions{})
		return said(err)
	})
	w.apply(deployments, "deployment.yaml", func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedStringMap(u.Object, map[string]string{"there-is": "none"}, "spec", "template", "spec", "nodeSelector"); err != nil {
			t.Fatal(err)
		}
	})
	w.eventually(unwell, func() string {
		b, err := w.hub.Resource(bindings).Namespace(w.namespace).Get(t.Context(), "nginx-deployment", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		items, _, err := unstructured.NestedSlice(b.Object, "status", "aggregatedStatus")
		if err != nil || len(items) == 0 {
			return fmt.Sprintf("nothing is told of any member, %v", err)
		}
		for _, i := range items {
			item, _ := i.(map[string]any)
			if item["applied"] != true || item["health"] != "Unhealthy" {
				return fmt.Sprintf("%v: applied %v, health %v", item["clusterName"], item["applied"], item["health"])
			}
		}
		return ""
	})
}

// said is what an error says; empty: there is none.
func said(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// apply applies a file of examples/quickstart, in the test's namespace.
func (w *world) apply(r schema.GroupVersionResource, file string, change func(*unstructured.Unstructured)) {
	w.Helper()
	for _, u := range w.manifests(filepath.Join("..", "..", "examples", "quickstart", file)) {
		if change != nil {
			change(u)
		}
		w.put(r, u)
	}
}

// manifests are the objects of a file, in the test's namespace.
func (w *world) manifests(file string) (objects []*unstructured.Unstructured) {
	w.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		w.Fatal(err)
	}
	for _, document := range bytes.Split(raw, []byte("\n---\n")) {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &u.Object); err != nil {
			w.Fatal(err)
		}
		u.SetNamespace(w.namespace)
		objects = append(objects, u)
	}
	return objects
}
