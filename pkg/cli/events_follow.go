// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// goOn prints the decisions so far, and then new ones, until ctx ends. Watches tell
// when to read again.
func (o *eventsOptions) goOn(ctx context.Context, h *hub.Hub, key propagation.TemplateKey) error {
	changed := make(chan struct{}, 1)
	told := func() {
		select {
		case changed <- struct{}{}:
		default: // it is going to read anyway
		}
	}
	if err := o.watch(ctx, h, key, told); err != nil {
		return err
	}
	grid, seen := o.screen.Grid("", decisionColumns, false), map[decision]bool{}
	for {
		all, err := o.decisions(ctx, h, key)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		var news []decision
		for _, d := range all {
			d.Time = d.Time.UTC() // the same time gives the same key
			if !seen[d] {
				seen[d] = true
				news = append(news, d)
			}
		}
		if rows := decisionRows(news); len(rows) > 0 {
			grid.Fit(rows)
			if len(seen) == len(rows) {
				grid.Titles()
			}
			grid.Rows(rows)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

// watch starts the watches of the objects from which decisions are read.
func (o *eventsOptions) watch(ctx context.Context, h *hub.Hub, key propagation.TemplateKey, told func()) error {
	kinds := []schema.GroupVersionKind{bindingKind(propagation.BindingOf(key).Scope()), workv1alpha1.SchemeGroupVersion.WithKind("Work")}
	if _, ok := hub.PlacementKeyOf(key); ok {
		kinds = []schema.GroupVersionKind{placementv1.SchemeGroupVersion.WithKind(placementv1.KindClusterResourcePlacement)}
	}
	for _, gvk := range kinds {
		if err := h.Watch(ctx, gvk, func(hub.Change) { told() }); err != nil {
			return installed(err)
		}
	}
	kube, err := o.kube()
	if err != nil {
		return err
	}
	list := cache.NewListWatchFromClient(kube.CoreV1().RESTClient(), "events", metav1.NamespaceAll, fields.Everything())
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: list, ObjectType: &corev1.Event{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { told() }, UpdateFunc: func(any, any) { told() },
		},
	})
	go informer.RunWithContext(ctx)
	return nil
}
