// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package knative

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	eventingv1 "knative.dev/eventing/pkg/apis/eventing/v1"

	"sluice.dev/pkg/core/propagation"
)

// triggers is where Triggers are served.
var triggers = eventingv1.SchemeGroupVersion.WithResource("triggers")

// applierTrigger is the one of all members, which takes the place of one for each.
const applierTrigger = "applier"

// retire deletes the Triggers that earlier versions made, one for each member, once
// there is the one for all. It is done once in a process: nobody makes them any more.
func (s *Sources) retire(ctx context.Context) error {
	if s.retired.Load() {
		return nil
	}
	all := s.client.Resource(triggers).Namespace(propagation.SystemNamespace)
	list, err := all.List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=sluice"})
	if err != nil {
		return fmt.Errorf("list Triggers: %w", err)
	}
	ready, err := applierReady(list.Items)
	if err != nil || !ready {
		return err // not ready: asked again with the next tick
	}
	for i := range list.Items {
		u := &list.Items[i]
		if member := u.GetLabels()[labelCluster]; member == "" || u.GetName() != applierTrigger+"-"+member {
			continue
		}
		uid := u.GetUID()
		err := all.Delete(ctx, u.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete Trigger %s: %w", u.GetName(), err)
		}
	}
	s.retired.Store(true)
	return nil
}

// applierReady tells whether the Trigger for all members is among these, and ready.
func applierReady(triggers []unstructured.Unstructured) (bool, error) {
	i := slices.IndexFunc(triggers, func(u unstructured.Unstructured) bool { return u.GetName() == applierTrigger })
	if i < 0 {
		return false, nil
	}
	var t eventingv1.Trigger
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(triggers[i].Object, &t); err != nil {
		return false, fmt.Errorf("decode Trigger %s: %w", applierTrigger, err)
	}
	return t.Status.IsReady(), nil
}
