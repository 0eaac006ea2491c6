// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The namespaces of the examples in examples/teams.
const (
	shop  = "shop"
	tools = "shop-tools"
)

// always is a window that is open.
const always = "Mon-Sun 00:00-24:00"

var clusters = schema.GroupVersionResource{Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters"}

// newTeam is team shop, whose templates are in its own namespace, and another
// team in a namespace of the test's.
func newTeam(t *testing.T) (team, other *world) {
	t.Helper()
	other = newWorld(t)
	_, err := other.hub.Resource(services).Namespace(tools).Get(t.Context(), "changewindow", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		t.Fatal("the examples of teams are not installed: test/knative/run teams does that")
	}
	if err != nil {
		t.Fatal(err)
	}
	is := *other
	team = &is
	team.namespace = shop
	team.hours(t.Context(), always)
	t.Cleanup(team.leave)
	return team, other
}

// leave has the team's policies and templates go, and waits until the members
// have nothing of them. Its namespace stays.
func (w *world) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	w.hours(ctx, always)
	ours := metav1.ListOptions{LabelSelector: "app=test"}
	err := w.hub.Resource(policies).Namespace(w.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err == nil {
		err = w.hub.Resource(configMaps).Namespace(w.namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, ours)
	}
	if err != nil {
		w.Errorf("after the test: %v", err)
		return
	}
	w.emptied(ctx)
}

// merge patches an object; cluster-scoped ones have no namespace.
func (w *world) merge(ctx context.Context, r schema.GroupVersionResource, namespace, name, patch string) {
	w.Helper()
	if _, err := w.hub.Resource(r).Namespace(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		w.Errorf("patch %s %s: %v", r.Resource, name, err)
	}
}

// hours sets when the team's change window is open, in UTC.
func (w *world) hours(ctx context.Context, hours string) {
	w.Helper()
	w.merge(ctx, configMaps, tools, "changewindow", fmt.Sprintf(`{"data":{"hours":%q,"timezone":"UTC"}}`, hours))
}

// close the team's change window for some hours to come.
func (w *world) close() {
	w.Helper()
	h := (time.Now().UTC().Hour() + 6) % 24
	w.hours(w.Context(), fmt.Sprintf("Mon-Sun %02d:00-%02d:30", h, h))
}

// policyOf makes a policy for both members. By default it selects the test's
// templates.
func (w *world) policyOf(name string, spec map[string]any) {
	w.Helper()
	if spec["resourceSelectors"] == nil {
		spec["resourceSelectors"] = []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "labelSelector": map[string]any{"matchLabels": map[string]any{"app": "test"}}}}
	}
	spec["placement"] = map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{members[0], members[1]}}}
	w.must(w.hub.Resource(policies).Namespace(w.namespace).Create(w.Context(),
		object("policy.karmada.io/v1alpha1", "PropagationPolicy", w.namespace, name, map[string]any{"spec": spec}), metav1.CreateOptions{}))
}

// stays fails when ok says something within the time.
func (w *world) stays(limit time.Duration, ok func() string) {
	w.Helper()
	deadline := time.Now().Add(limit)
	for tick := time.NewTicker(time.Second); time.Now().Before(deadline); <-tick.C {
		if why := ok(); why != "" {
			w.Fatal(why)
		}
	}
}

// shown are the events that an event_display has shown, each as it prints it.
func (w *world) shown(namespace, name string) []string {
	w.Helper()
	return strings.Split(strings.Join(w.logged(namespace, name), ""), "cloudevents.Event")
}

// sawType is an event of a type about the object of a name; empty: none.
func sawType(all []string, eventType, name string) string {
	for _, e := range all {
		if strings.Contains(e, "\n  type: "+eventType+"\n") && strings.Contains(e, "\n  name: "+name+"\n") {
			return e
		}
	}
	return ""
}
