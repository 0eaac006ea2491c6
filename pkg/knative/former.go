// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"

	"sluice.dev/pkg/core/propagation"
)

// Triggers is where Triggers are served.
var Triggers = eventingv1.SchemeGroupVersion.WithResource("triggers")

// applierTrigger is the one of all members, which takes the place of one for each.
const applierTrigger = "applier"

// retire deletes the Triggers that earlier versions made, one for each member, once
// there is the one for all. It is done once in a process: nobody makes them any more.
func (s *Sources) retire(ctx context.Context) error {
	if s.retired.Load() {
		return nil
	}
	triggers := s.client.Resource(Triggers).Namespace(propagation.SystemNamespace)
	list, err := triggers.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=sluice"})
	if err != nil {
		return fmt.Errorf("list Triggers: %w", err)
	}
	ready := false
	for i := range list.Items {
		ready = ready || list.Items[i].GetName() == applierTrigger && isReady(&list.Items[i])
	}
	if !ready {
		return nil // and asked again with the next tick
	}
	for i := range list.Items {
		u := &list.Items[i]
		if member := u.GetLabels()[LabelCluster]; member == "" || u.GetName() != applierTrigger+"-"+member {
			continue
		}
		uid := u.GetUID()
		err := triggers.Delete(ctx, u.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete Trigger %s: %w", u.GetName(), err)
		}
	}
	s.retired.Store(true)
	return nil
}

// isReady tells whether an object of Knative says that it is ready.
func isReady(u *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if c, _ := c.(map[string]any); c["type"] == "Ready" {
			return c["status"] == "True"
		}
	}
	return false
}
