// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/localbroker"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/replay"
)

// retryPause is waited before the hub is tried again.
const retryPause = 500 * time.Millisecond

// always are watched, even if no policy selects them: the gates are in a ConfigMap, and whether a
// namespace is protected is asked for each template.
var always = []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Namespace"}}

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
	if err := p.persist(ctx, func() error { return p.watchRules(ctx) }); err != nil {
		return err
	}
	kinds := append(hub.OwnKinds(), always...)
	for _, gvk := range append(kinds, hub.PolicyKinds()...) {
		if err := p.persist(ctx, func() error { return p.hub.Watch(ctx, gvk, p.announce(ctx)) }); err != nil {
			return err
		}
	}
	close(p.loaded)
	return p.persist(ctx, func() error { return errors.Join(p.follow(ctx), p.remember(ctx)) })
}

// watchRules watches the rules that owners give their kinds. Where the hub does not serve
// them yet there are none, and the next tick tries again.
func (p *pipeline) watchRules(ctx context.Context) error {
	err := p.hub.Watch(ctx, hub.InterpreterKind(), nil)
	if errors.Is(err, outcome.ErrNotServed) {
		return nil
	}
	return err
}

// remember watches the kinds of what was claimed or bound when this process
// ended: the policies may have gone meanwhile.
func (p *pipeline) remember(ctx context.Context) error {
	var kinds []schema.GroupVersionKind
	bindings, err := p.hub.Bindings(ctx)
	if err != nil {
		return err
	}
	for _, b := range bindings {
		kinds = append(kinds, b.Template().GroupVersionKind())
	}
	claimed, err := p.hub.Claimed(ctx)
	if err != nil { // as where an aggregated API is down, which nothing waits for
		function.Logger(ctx).Warn("find what is claimed", "error", err)
	}
	kinds = append(kinds, claimed...)
	p.memory.Store(&kinds)
	return p.watch(ctx, kinds)
}

// remembered are the kinds that remember found: their watch is opened again, should
// it have ended because nobody served them for a while.
func (p *pipeline) remembered() []schema.GroupVersionKind {
	if kinds := p.memory.Load(); kinds != nil {
		return *kinds
	}
	return nil
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
		if name, ok := hub.ClusterOf(c.Key); ok && c.Type == hub.Deleted {
			p.fleet.Forget(name)
		}
		if selects(c.Key) {
			if err := p.follow(ctx); err != nil {
				function.Logger(ctx).Warn("follow the policies", "error", err)
			}
		}
		p.publish(ctx, resourceTypes[c.Type], events.Object{TemplateKey: c.Key, Version: c.Version})
	}
}

// selects tells whether an object says which others are templates.
func selects(key propagation.TemplateKey) bool {
	_, policy := hub.PolicyKeyOf(key)
	_, placement := hub.PlacementKeyOf(key)
	return policy || placement
}

var resourceTypes = map[hub.ChangeType]string{
	hub.Added: events.ResourceAdded, hub.Updated: events.ResourceUpdated, hub.Deleted: events.ResourceDeleted,
}

// watched is the source of what the API servers of hub and members tell: it comes from
// outside (events.Own), as what a source on Knative tells.
const watched = "/apiservers"

// told makes an event of what an API server tells. For what is new on the hub somebody
// waits; of a change only the detector knows whether it was Sluice's.
func told(eventType string, o events.Object) (event.Event, error) {
	e, err := events.NewResource(watched, eventType, o)
	if err == nil && eventType == events.ResourceAdded && o.Cluster == "" {
		e.SetExtension(events.ExtBulk, events.NotBulk)
	}
	return e, err
}

func (p *pipeline) publish(ctx context.Context, eventType string, o events.Object) {
	e, err := told(eventType, o)
	if err == nil {
		err = p.broker.Publish(ctx, e)
	}
	if err != nil && ctx.Err() == nil {
		function.Logger(ctx).Error("publish", "error", err)
	}
}

// follow watches the kinds that policies and placements select, and what these may
// depend on. A kind that the hub does not serve yet is tried again with the next tick.
func (p *pipeline) follow(ctx context.Context) error {
	policies, err := p.hub.Policies(ctx)
	if err != nil {
		return err
	}
	placed, err := p.placed(ctx)
	kinds := slices.Concat(matching.Kinds(policies), placed, p.remembered())
	return errors.Join(err, p.watchRules(ctx), p.watch(ctx, kinds))
}

// placed are the kinds that placements select.
func (p *pipeline) placed(ctx context.Context) ([]schema.GroupVersionKind, error) {
	placements, err := p.hub.Placements(ctx)
	if err != nil || len(placements) == 0 {
		return nil, err
	}
	inside, err := p.hub.KindsInNamespaces(ctx)
	return placing.Kinds(placements, inside), err
}

// watch watches kinds of templates, each in one version, but for those that the hub
// does not serve.
func (p *pipeline) watch(ctx context.Context, kinds []schema.GroupVersionKind) error {
	watched := map[schema.GroupKind]schema.GroupVersionKind{}
	for _, gvk := range p.hub.Watched() {
		watched[gvk.GroupKind()] = gvk
	}
	var failed []error
	for _, gvk := range kinds {
		first, ok := watched[gvk.GroupKind()]
		if ok {
			gvk = first
		}
		watched[gvk.GroupKind()] = gvk
		err := p.hub.Watch(ctx, gvk, p.announce(ctx))
		if err == nil && !ok {
			err = vanished(ctx, p.claims, p.hub, gvk, func(t propagation.TemplateKey) {
				p.publish(ctx, events.ResourceDeleted, events.Object{TemplateKey: t})
			})
		}
		if err != nil && !errors.Is(err, outcome.ErrNotServed) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// vanished tells of the templates of a kind that Redis knows and that the hub does not
// have. That they were deleted was told when nobody could tell whether they exist: their
// kind was not served.
func vanished(ctx context.Context, index replay.Index, h templates, gvk schema.GroupVersionKind, tell func(propagation.TemplateKey)) error {
	return replay.Recorded(ctx, index, gvk.GroupKind(), func(t propagation.TemplateKey) error {
		_, err := h.Template(ctx, t)
		if errors.Is(err, outcome.ErrGone) {
			tell(t)
			return nil
		}
		return err
	})
}

// templates are those of the hub.
type templates interface {
	Template(ctx context.Context, key propagation.TemplateKey) (*propagation.Template, error)
}
