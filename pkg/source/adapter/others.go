// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"sluice.dev/pkg/core/applying"
)

// watchVariable is the variable that tells Knative's adapter what to watch, and this one
// whose writes to leave out.
const watchVariable = "K_SOURCE_CONFIG"

// hubOf is the identity of the hub, of whose new objects in members is not told: what came
// of each, the applier tells. Empty: every write is told of.
func hubOf(config string) (string, error) {
	var c struct {
		Hub string `json:"hub"`
	}
	if config == "" {
		return "", nil
	}
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return "", fmt.Errorf("decode %s: %w", watchVariable, err)
	}
	return c.Hub, nil
}

// others is a client whose watches leave out what the hub itself made.
type others struct {
	dynamic.Interface
	hub string
}

// Resource returns the client for a kind.
func (o others) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return othersOf{o.Interface.Resource(r), o.hub}
}

type othersOf struct {
	dynamic.NamespaceableResourceInterface
	hub string
}

// Namespace returns the client for a kind in one namespace; empty: in all.
func (o othersOf) Namespace(namespace string) dynamic.ResourceInterface {
	return othersIn{o.NamespaceableResourceInterface.Namespace(namespace), o.hub}
}

// Watch watches what others write in all namespaces.
func (o othersOf) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	return watchOthers(ctx, o.NamespaceableResourceInterface, opts, o.hub)
}

type othersIn struct {
	dynamic.ResourceInterface
	hub string
}

// Watch watches what others write in the namespace.
func (o othersIn) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	return watchOthers(ctx, o.ResourceInterface, opts, o.hub)
}

func watchOthers(ctx context.Context, at dynamic.ResourceInterface, opts metav1.ListOptions, hub string) (watch.Interface, error) {
	w, err := at.Watch(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	told := make(chan watch.Event)
	filtered := watch.NewProxyWatcher(told)
	go func() {
		defer close(told)
		defer w.Stop()
		for {
			select {
			case <-filtered.StopChan():
				return
			case e, open := <-w.ResultChan():
				if !open {
					return
				}
				if own(e, hub) {
					continue
				}
				select {
				case told <- e:
				case <-filtered.StopChan():
					return
				}
			}
		}
	}()
	return filtered, nil
}

// own reports whether the event is of an object that the hub itself made. A change and a
// deletion are always told of, and so is what is no object: whoever may write in the member
// can do it under Sluice's name.
func own(e watch.Event, hub string) bool {
	if e.Type != watch.Added {
		return false
	}
	m, err := meta.Accessor(e.Object)
	if err != nil {
		return false
	}
	return applying.WrittenBy(&metav1.ObjectMeta{
		DeletionTimestamp: m.GetDeletionTimestamp(), ManagedFields: m.GetManagedFields(), Annotations: m.GetAnnotations(),
	}, hub)
}
