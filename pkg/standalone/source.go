// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/config"
	"sluice.dev/pkg/core/dependencies"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/localbroker"
	"sluice.dev/pkg/outcome"
)

// retryPause is waited before the hub is tried again.
const retryPause = 500 * time.Millisecond

// configMaps are watched always: the gates are in one.
var configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// source announces what there is, then what changes, and ticks.
func (p *pipeline) source(ctx context.Context, every time.Duration) error {
	if err := p.start(ctx); err != nil {
		return err
	}
	close(p.ready)
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.lost:
			if err := p.sweeper.Rebuild(ctx); err != nil {
				function.Logger(ctx).Warn("rebuild the index", "error", err) // the tick tries again
			}
		case now := <-t.C:
			if err := p.follow(ctx); err != nil {
				function.Logger(ctx).Warn("follow the policies", "error", err)
			}
			p.broker.Redeliver(localbroker.DeadLetter.Transient)
			if err := p.broker.Publish(ctx, tick(now)); err != nil {
				return fmt.Errorf("tick: %w", err)
			}
		}
	}
}

// start builds the index, so that no stage decides before it is there, and then
// watches: our own kinds first, for the stages read them from the watch. Nothing is
// announced before all of them are in, which each stage would read live until then.
func (p *pipeline) start(ctx context.Context) error {
	if err := p.persist(ctx, func() error { return p.sweeper.Start(ctx) }); err != nil {
		return err
	}
	if err := p.persist(ctx, func() error { return p.hub.Watch(ctx, hub.FrozenKind(), nil) }); err != nil {
		return err
	}
	kinds := append(hub.OwnKinds(), configMaps)
	for _, gvk := range append(kinds, hub.PolicyKinds()...) {
		if err := p.persist(ctx, func() error { return p.hub.Watch(ctx, gvk, p.announce(ctx)) }); err != nil {
			return err
		}
	}
	close(p.loaded)
	return p.persist(ctx, func() error { return errors.Join(p.follow(ctx), p.remember(ctx)) })
}

// remember watches the kinds of what was claimed or bound when this process
// ended: the policies may have gone meanwhile.
func (p *pipeline) remember(ctx context.Context) error {
	kinds := map[schema.GroupVersionKind]bool{}
	bindings, err := p.hub.Bindings(ctx)
	if err != nil {
		return err
	}
	for _, b := range bindings {
		kinds[b.Template().GroupVersionKind()] = true
	}
	claimed, err := p.hub.Claimed(ctx)
	if err != nil { // as where an aggregated API is down, which nothing waits for
		function.Logger(ctx).Warn("find what is claimed", "error", err)
	}
	for _, gvk := range claimed {
		kinds[gvk] = true
	}
	return p.watch(ctx, kinds)
}

// persist tries until it succeeds or ctx ends: the hub may come up later.
func (p *pipeline) persist(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		function.Logger(ctx).Warn("wait for the hub", "error", err)
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(retryPause):
		}
	}
}

// announce turns what a watch tells into an event.
func (p *pipeline) announce(ctx context.Context) func(hub.Change) {
	return func(c hub.Change) {
		select {
		case <-p.loaded:
		case <-ctx.Done():
			return
		}
		if name, ok := hub.ClusterOf(c.Key); ok {
			if err := p.cluster(name, c.Type == hub.Deleted); err != nil {
				function.Logger(ctx).Error("cluster "+name, "error", err)
			}
		}
		if _, ok := hub.PolicyKeyOf(c.Key); ok {
			if err := p.follow(ctx); err != nil {
				function.Logger(ctx).Warn("follow the policies", "error", err)
			}
		}
		p.publish(ctx, resourceTypes[c.Type], events.Object{TemplateKey: c.Key, Version: c.Version})
	}
}

var resourceTypes = map[hub.ChangeType]string{
	hub.Added: events.ResourceAdded, hub.Updated: events.ResourceUpdated, hub.Deleted: events.ResourceDeleted,
}

func (p *pipeline) publish(ctx context.Context, eventType string, o events.Object) {
	e, err := events.NewResource(events.Source("standalone"), eventType, o)
	if err == nil {
		err = p.broker.Publish(ctx, e)
	}
	if err != nil && ctx.Err() == nil {
		function.Logger(ctx).Error("publish", "error", err)
	}
}

// cluster puts the applier's Trigger of a member in place, or takes it away.
func (p *pipeline) cluster(name string, left bool) error {
	t, err := config.ApplierTrigger(name)
	if err != nil {
		return err
	}
	if left {
		p.fleet.Forget(name)
		p.broker.RemoveTrigger(t.Name)
		return nil
	}
	return p.broker.AddTrigger(t)
}

// follow watches the kinds that policies select, and what these may depend on.
// A kind that the hub does not serve yet is tried again with the next tick.
func (p *pipeline) follow(ctx context.Context) error {
	policies, err := p.hub.Policies(ctx)
	if err != nil {
		return err
	}
	kinds := map[schema.GroupVersionKind]bool{}
	for _, pol := range policies {
		for _, s := range pol.Spec.ResourceSelectors {
			kinds[schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)] = true
		}
		if pol.Spec.PropagateDeps || pol.Spec.Association {
			for _, k := range dependencies.Kinds {
				kinds[k.GroupVersionKind()] = true
			}
		}
	}
	return p.watch(ctx, kinds)
}

// watch watches kinds of templates, but for those that the hub does not serve.
func (p *pipeline) watch(ctx context.Context, kinds map[schema.GroupVersionKind]bool) error {
	var failed []error
	for gvk := range kinds {
		if err := p.hub.Watch(ctx, gvk, p.announce(ctx)); err != nil && !errors.Is(err, outcome.ErrGone) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}
