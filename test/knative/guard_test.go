// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	daemonSets   = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}
	jobs         = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	cronJobs     = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}
	autoscalers  = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	budgets      = schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}
	claims       = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	kubeEvents   = schema.GroupVersionResource{Version: "v1", Resource: "events"}
)

// What a guarded hub's own controllers would do with workloads does not happen, and
// the status is what members report: nobody writes against Sluice.
func TestGuardedHubRunsNothing(t *testing.T) {
	w := newWorld(t)
	kinds := map[string]schema.GroupVersionResource{
		"Deployment": deployments, "StatefulSet": statefulSets, "DaemonSet": daemonSets, "Job": jobs, "CronJob": cronJobs,
		"PodDisruptionBudget": budgets, "HorizontalPodAutoscaler": autoscalers,
	}
	var selectors []any
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		selectors = append(selectors, map[string]any{"apiVersion": kinds[kind].GroupVersion().String(), "kind": kind})
	}
	w.put(policies, object("policy.karmada.io/v1alpha1", "PropagationPolicy", w.namespace, "workloads", map[string]any{"spec": map[string]any{
		"resourceSelectors": selectors,
		"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{members[0], members[1]}}},
	}}))
	workloads := w.manifests(filepath.Join("testdata", "workloads.yaml"))
	for _, u := range workloads {
		w.put(kinds[u.GetKind()], u)
	}

	status := func(r schema.GroupVersionResource, name, field string) int64 {
		t.Helper()
		return w.number(w.must(w.hub.Resource(r).Namespace(w.namespace).Get(t.Context(), name, metav1.GetOptions{})), "status", field)
	}
	w.eventually(recovery, func() string {
		for _, tc := range []struct {
			r           schema.GroupVersionResource
			name, field string
			least       int64
		}{
			{deployments, "web", "availableReplicas", 4},
			{statefulSets, "ordered", "availableReplicas", 6}, // of the members' autoscalers, three each
			{daemonSets, "everywhere", "numberAvailable", 2},
			{jobs, "once", "succeeded", 4},
			{budgets, "web", "currentHealthy", 4},
		} {
			if got := status(tc.r, tc.name, tc.field); got < tc.least {
				return fmt.Sprintf("%s %s: status.%s is %d, want %d of both members", tc.r.Resource, tc.name, tc.field, got, tc.least)
			}
		}
		return ""
	})
	// The hub's controller of CronJobs has tried by now, or is waited for.
	w.eventually(2*time.Minute, func() string {
		list, err := w.hub.Resource(kubeEvents).Namespace(w.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=CronJob,reason=FailedCreate"})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list.Items {
			if strings.Contains(w.text(&e, "message"), "templates run on members") {
				return ""
			}
		}
		return "the hub did not try to make a Job of the CronJob"
	})

	ordered := w.must(w.hub.Resource(statefulSets).Namespace(w.namespace).Get(t.Context(), "ordered", metav1.GetOptions{}))
	if got := w.number(ordered, "spec", "replicas"); got != 2 {
		t.Errorf("the hub scaled a template to %d replicas", got)
	}

	made := map[string]bool{}
	for _, u := range workloads {
		made[u.GetKind()+" "+u.GetName()] = true
	}
	for _, r := range []schema.GroupVersionResource{pods, replicaSets, claims, jobs} {
		list, err := w.hub.Resource(r).Namespace(w.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			if !made[o.GetKind()+" "+o.GetName()] {
				t.Errorf("the hub made %s %s of a template", o.GetKind(), o.GetName())
			}
		}
	}

	// Nobody writes any more; the CronJob's status tells of each minute.
	versions := func() map[string]string {
		t.Helper()
		out := map[string]string{}
		for _, u := range workloads {
			if u.GetKind() != "CronJob" {
				out[u.GetKind()+" "+u.GetName()] = w.must(w.hub.Resource(kinds[u.GetKind()]).Namespace(w.namespace).Get(t.Context(), u.GetName(), metav1.GetOptions{})).GetResourceVersion()
			}
		}
		return out
	}
	const quiet = 20 * time.Second
	before, since := versions(), time.Now()
	w.eventually(3*time.Minute, func() string {
		if is := versions(); !maps.Equal(is, before) {
			before, since = is, time.Now()
		}
		if time.Since(since) < quiet {
			return fmt.Sprintf("something is written all the time: %v", before)
		}
		return ""
	})
}
