// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kill ends the pods with a label, at once.
func (w *world) kill(namespace, selector string) {
	w.Helper()
	now := int64(0)
	list, err := w.hub.Resource(pods).Namespace(namespace).List(w.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil || len(list.Items) == 0 {
		w.Fatalf("no pods %s in %s: %v", selector, namespace, err)
	}
	for _, p := range list.Items {
		if err := w.hub.Resource(pods).Namespace(namespace).Delete(w.Context(), p.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			w.Log(err)
		}
	}
	w.Logf("killed %d pods: %s in %s", len(list.Items), selector, namespace)
}

// runningPod is a pod of Sluice with these labels that runs and is not about to end.
func (w *world) runningPod(selector string) (pod *unstructured.Unstructured) {
	w.Helper()
	w.eventually(time.Minute, func() string {
		list, err := w.hub.Resource(pods).Namespace(system).List(w.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err.Error()
		}
		for i := range list.Items {
			if pod = &list.Items[i]; w.text(pod, "status", "phase") == "Running" && pod.GetDeletionTimestamp() == nil {
				return ""
			}
		}
		return "no pod runs with " + selector
	})
	return pod
}

// addressOf is the IP address of such a pod.
func (w *world) addressOf(selector string) string {
	w.Helper()
	return w.text(w.runningPod(selector), "status", "podIP")
}

// podsOfFunctions are all of them, also those that start or end.
func (w *world) podsOfFunctions() []unstructured.Unstructured {
	w.Helper()
	list, err := w.hub.Resource(pods).Namespace(system).List(w.Context(), metav1.ListOptions{LabelSelector: labelFunction})
	if err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// functions are their pods that run and are not about to end.
func (w *world) functions() []unstructured.Unstructured {
	w.Helper()
	return slices.DeleteFunc(w.podsOfFunctions(), func(p unstructured.Unstructured) bool {
		return w.text(&p, "status", "phase") != "Running" || p.GetDeletionTimestamp() != nil
	})
}

// running counts each function's pods.
func (w *world) running() map[string]int {
	w.Helper()
	n := map[string]int{}
	for _, p := range w.functions() {
		n[p.GetLabels()[labelFunction]]++
	}
	return n
}
