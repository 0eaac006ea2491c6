// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// creators is how many templates are created at a time, and how many of a burst the floor
// has under way: as many as are best for it.
const creators = 16

// patience ends a measurement that has gone wrong.
const patience = 10 * time.Minute

// kinds of templates, in the order of the table.
var kinds = []string{"ConfigMap", "Deployment"}

// place is where objects of the kind are in a namespace.
func place(kind, namespace string) string {
	at := strings.LastIndex(paths[kind], "/")
	return paths[kind][:at] + "/namespaces/" + namespace + paths[kind][at:]
}

// template is a manifest as people write it.
func template(kind, namespace, name string) map[string]any {
	meta := map[string]any{"namespace": namespace, "name": name, "labels": map[string]any{"app": name}}
	if kind == "ConfigMap" {
		return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": meta, "data": map[string]any{"greeting": says, "size": "12"}}
	}
	labels := map[string]any{"app": name}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": kind, "metadata": meta,
		"spec": map[string]any{
			"replicas": 1, "selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": "nginx"}}},
			},
		},
	}
}

// serial makes names that no other template of the run has.
var serial atomic.Int64

func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%d", prefix, serial.Add(1))
	}
	return all
}

// policy has everything of the kinds in its namespace propagated to all members.
func (b *bench) policy(ctx context.Context, namespace, name string, extra map[string]any) error {
	var clusters []string
	for _, m := range b.lab.members {
		clusters = append(clusters, m.name)
	}
	spec := map[string]any{
		"resourceSelectors": []any{
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "labelSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "app", "operator": "Exists"}}}},
			map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"},
		},
		"placement": map[string]any{"clusterAffinity": map[string]any{"clusterNames": clusters}},
	}
	for k, v := range extra {
		spec[k] = v
	}
	if err := b.lab.namespaces(ctx, namespace); err != nil {
		return err
	}
	_, err := b.lab.hub.apply(ctx, policyPath(namespace, name), encoded(map[string]any{
		"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
		"metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
	}))
	return err
}

func policyPath(namespace, name string) string {
	return "/apis/policy.karmada.io/v1alpha1/namespaces/" + namespace + "/propagationpolicies/" + name
}

// create creates templates, and tells when it began.
func (b *bench) create(ctx context.Context, kind, namespace string, names []string) (time.Time, error) {
	began := time.Now()
	return began, each(ctx, names, func(ctx context.Context, name string) error {
		_, err := b.lab.hub.create(ctx, place(kind, namespace), encoded(template(kind, namespace, name)))
		return err
	})
}

// each does something to each template, to so many at a time.
func each(ctx context.Context, names []string, do func(ctx context.Context, name string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for _, name := range names {
		group.Go(func() error { return do(ctx, name) })
	}
	return group.Wait()
}

// propagate creates templates and waits until all are in place and reported. It
// tells how long that took.
func (b *bench) propagate(ctx context.Context, kind, namespace string, names []string) (time.Duration, error) {
	began, err := b.create(ctx, kind, namespace, names)
	if err != nil {
		return 0, err
	}
	b.held += len(names)
	var all []string
	for _, name := range names {
		all = append(all, b.propagated(kind, name)...)
	}
	last, err := b.track.await(ctx, all)
	return last.Sub(began), err
}

// quantile of durations; of none it is 0.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
