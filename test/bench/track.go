// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// tracker knows when something was seen first.
type tracker struct {
	mu   sync.Mutex
	seen map[string]time.Time
	wake chan struct{} // closed at the next sight
}

func newTracker() *tracker { return &tracker{seen: map[string]time.Time{}, wake: make(chan struct{})} }

func (t *tracker) see(what string) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.seen[what]; !known {
		t.seen[what] = now
		close(t.wake)
		t.wake = make(chan struct{})
	}
}

// await waits until all have been seen, and tells when the last of them was.
func (t *tracker) await(ctx context.Context, all []string) (time.Time, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	var last time.Time
	for len(all) > 0 {
		t.mu.Lock()
		at, ok := t.seen[all[0]]
		wake := t.wake
		t.mu.Unlock()
		if ok {
			if at.After(last) {
				last = at
			}
			all = all[1:]
			continue
		}
		select {
		case <-wake:
		case <-late.C:
			return last, fmt.Errorf("waited %v in vain for %s and %d others", patience, all[0], len(all)-1)
		case <-ctx.Done():
			return last, ctx.Err()
		}
	}
	return last, nil
}

// missing counts what has not been seen.
func (t *tracker) missing(all []string) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, what := range all {
		if _, known := t.seen[what]; !known {
			n++
		}
	}
	return n
}

// What is seen of a template, by the name of its cluster.
func inPlace(cluster, kind, name string) string { return kind + " " + name + " in " + cluster }
func available(cluster, kind, name string) string {
	return kind + " " + name + " available in " + cluster
}
func reported(kind, name string) string { return kind + " " + name + " reported" }

// follow watches what the measurements wait for, from the start to the end, so
// that what this costs the API servers it costs pipeline and floor alike.
func (b *bench) follow(ctx context.Context) error {
	b.targets.Store(int64(len(b.lab.members)))
	err := b.lab.hub.watch(ctx, "/apis/work.karmada.io/v1alpha2/resourcebindings", b.seeBinding)
	if err != nil {
		return err
	}
	err = b.lab.hub.watch(ctx, paths["Deployment"], func(o object) {
		if o.Status.AvailableReplicas == int(b.targets.Load()) {
			b.track.see(reported("Deployment", o.Metadata.Name))
		}
	})
	if err != nil {
		return err
	}
	for _, m := range b.lab.members {
		if err := b.followMember(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) followMember(ctx context.Context, m *cluster) error {
	for kind, path := range paths {
		err := m.watch(ctx, path, func(o object) {
			b.track.see(inPlace(m.name, kind, o.Metadata.Name))
			if o.Status.AvailableReplicas > 0 {
				b.track.see(available(m.name, kind, o.Metadata.Name))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// seeBinding takes a ConfigMap, which has no status, for reported when its
// binding is.
func (b *bench) seeBinding(o object) {
	if o.condition("FullyApplied") == "True" && len(o.Status.AggregatedStatus) == int(b.targets.Load()) && o.Spec.Resource.Kind == "ConfigMap" {
		b.track.see(reported(o.Spec.Resource.Kind, o.Spec.Resource.Name))
	}
}

// paths list the kinds of templates that are measured.
var paths = map[string]string{"ConfigMap": "/api/v1/configmaps", "Deployment": "/apis/apps/v1/deployments"}

// propagated is what has to be seen of a template.
func (b *bench) propagated(kind, name string) []string {
	all := []string{reported(kind, name)}
	for _, m := range b.lab.members {
		all = append(all, inPlace(m.name, kind, name))
		if kind == "Deployment" {
			all = append(all, available(m.name, kind, name))
		}
	}
	return all
}
