// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/inputs"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

const (
	// linger is how long a kind that is no longer selected is still watched: each change
	// of the kinds restarts the sources, for all namespaces, and policies of one namespace
	// that select one kind after the other must not cause that again and again (Z32). A
	// process that has just started does not know for how long a kind has not been
	// selected.
	linger = 24 * time.Hour
	// kindsAtOnce limits the watches that one sweep has open.
	kindsAtOnce = 16
	// eventsAtOnce is how many events are published together.
	eventsAtOnce = 50
	// positionNamespaces is the name under which the namespaces of templates are
	// stored.
	positionNamespaces = "namespaces"
	// positionSources is the name under which the last restart of sources is stored.
	positionSources = "sources"
	// startingTakes is how long a restart takes, with some margin.
	startingTakes = 20 * time.Second
)

// announcer is the source of the events.
var announcer = events.Source(tick.Stage)

// Hub is a hub that this process does not watch.
type Hub interface {
	inputs.ClaimHub
	Policies(ctx context.Context) ([]*propagation.Policy, error)
	WorksOf(ctx context.Context, key propagation.BindingKey) ([]*propagation.Work, error)
	Changes(ctx context.Context, gvk schema.GroupVersionKind, since string) (hub.Changes, error)
	Ours(ctx context.Context, key propagation.TemplateKey) (bool, error)
	Namespaces(ctx context.Context, selector string) ([]string, error)
	Placements(ctx context.Context) ([]*placementv1.ClusterResourcePlacement, error)
	KindsInNamespaces(ctx context.Context) ([]schema.GroupVersionKind, error)
}

// Index is what Redis knows of templates.
type Index interface {
	inputs.Index
	Templates(ctx context.Context, kind schema.GroupKind, cursor string, n int) ([]propagation.TemplateKey, string, error)
}

// Sources report changes during normal operation.
type Sources interface {
	// Follow makes them watch the kinds, on the hub and in members; keep: in addition
	// to what they watch already. It returns the label selector for the namespaces of
	// templates (empty: all namespaces), and whether a source has to restart.
	Follow(ctx context.Context, kinds []schema.GroupVersionKind, keep bool) (selector string, changed bool, err error)
}

// Publish returns nil once the broker has accepted every event.
type Publish func(ctx context.Context, out []event.Event) error

// Replay finds changes that no source reported. Its state in this process only saves
// work: nothing else depends on it.
type Replay struct {
	hub       Hub
	index     Index
	positions tick.Positions
	sources   Sources
	publish   Publish
	now       func() time.Time

	// finding is held during a search: a second one would announce the same. Nobody
	// waits for it: an announcement may come back as a policy's event before the broker
	// has accepted it.
	finding sync.Mutex
	// asked is set to request a search; everything if that is to include more than
	// kinds that were never read.
	asked, everything atomic.Bool
}

// New returns a Replay.
func New(h Hub, i Index, at tick.Positions, s Sources, publish Publish, now func() time.Time) *Replay {
	return &Replay{hub: h, index: i, positions: at, sources: s, publish: publish, now: now}
}

// Policies makes the sources watch the kinds that policies select, and announces the
// objects of kinds that are selected for the first time. If sources restart because of
// that, it emits the event that repeats the search.
func (r *Replay) Policies(ctx context.Context, e event.Event) ([]event.Event, error) {
	changed, err := r.find(ctx, true)
	if err != nil || !changed {
		return nil, err
	}
	return again(e)
}

// Changed finds what happened while sources restarted, before the next tick: it
// searches, which takes the hub some seconds, and emits the event that repeats the
// search until they watch.
func (r *Replay) Changed(ctx context.Context, e event.Event) ([]event.Event, error) {
	if _, err := r.Find(ctx); err != nil {
		return nil, err
	}
	positions, err := r.positions.Load(ctx)
	if err != nil || !r.starting(positions) {
		return nil, err
	}
	return again(e)
}

// Source finds what happened while a source was not running; e is about its Deployment.
// The source may not watch yet, so the first of such events makes the search repeat
// until it does, and later ones prolong that.
func (r *Replay) Source(ctx context.Context, e event.Event) ([]event.Event, error) {
	positions, err := r.positions.Load(ctx)
	if err != nil {
		return nil, err
	}
	first := !r.starting(positions)
	if err := r.starts(ctx); err != nil { // a new start prolongs the search
		return nil, err
	}
	changed, err := r.Find(ctx)
	if err != nil || !first && !changed {
		return nil, err
	}
	return again(e)
}

// starts records that sources are restarting.
func (r *Replay) starts(ctx context.Context) error {
	return r.positions.Save(ctx, positionSources, r.now().UTC().Format(time.RFC3339Nano))
}

// starting reports whether sources are restarting, so that the search is being repeated
// already. A position that cannot be decoded counts as no restart.
func (r *Replay) starting(positions map[string]string) bool {
	began, err := time.Parse(time.RFC3339Nano, positions[positionSources])
	return err == nil && r.now().Sub(began) <= startingTakes
}

func again(e event.Event) ([]event.Event, error) {
	out := events.From(tick.Stage, e)
	Again(out)
	return out.Events()
}

// Again emits the event that repeats the search, because sources are restarting.
func Again(out *events.Batch) {
	out.Emit(events.SourcesChanged, events.Data{Reason: "SourcesStart"})
}

// Find announces what was missed. changed reports that sources are restarting and the
// search is not being repeated yet: then the caller has to call Again.
func (r *Replay) Find(ctx context.Context) (changed bool, err error) {
	return r.find(ctx, false)
}

// IsSource reports whether an object is the Deployment of a source; no other
// Deployments in Sluice's namespace are watched.
func IsSource(key propagation.TemplateKey) bool {
	return key.Namespace == propagation.SystemNamespace && key.Kind == "Deployment"
}

// Ours reports whether an event is about a write of Sluice's own, which has been
// announced by whoever made it. That does not hold for events of the announcer.
func (r *Replay) Ours(ctx context.Context, e event.Event, key propagation.TemplateKey) (bool, error) {
	if e.Source() == announcer || e.Type() == events.ResourceDeleted {
		return false, nil
	}
	return r.hub.Ours(ctx, key)
}

// find announces what was missed; unknown: only for kinds that were never read. It
// returns the same as Find.
func (r *Replay) find(ctx context.Context, unknown bool) (changed bool, err error) {
	if !unknown {
		r.everything.Store(true)
	}
	r.asked.Store(true)
	for r.asked.Load() && r.finding.TryLock() {
		more, err := r.findAsked(ctx)
		r.finding.Unlock()
		changed = changed || more
		if err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// findAsked searches as long as another search is requested.
func (r *Replay) findAsked(ctx context.Context) (changed bool, err error) {
	for r.asked.Swap(false) {
		more, err := r.findOnce(ctx, !r.everything.Swap(false))
		if err != nil {
			r.everything.Store(true) // for the next one, as others may have requested it
			return changed, err
		}
		changed = changed || more
	}
	return changed, nil
}

// findOnce searches once, and returns the same as Find.
func (r *Replay) findOnce(ctx context.Context, unknown bool) (changed bool, err error) {
	positions, err := r.positions.Load(ctx)
	if err != nil {
		return false, err
	}
	kinds, young, err := r.templates(ctx, positions)
	if err != nil {
		return false, err
	}
	if unknown && allKnown(kinds, positions) {
		return false, nil
	}
	selector, changed, astray := r.sources.Follow(ctx, kinds, young)
	if astray != nil {
		astray = fmt.Errorf("have the sources follow the policies: %w", astray)
		kinds = nil // the namespaces of templates are not known: read only kinds that are not templates
	}
	if changed {
		if err := r.starts(ctx); err != nil {
			return true, err
		}
		changed = !r.starting(positions) // otherwise the search is being repeated already, and now for longer
	}
	in := namespaces{}
	if astray == nil {
		if in, err = r.namespaces(ctx, selector, positions); err != nil {
			return changed, err
		}
	}
	all := append(slices.Clone(kinds), hub.PolicyKinds()...)
	if !unknown {
		all = append(all, hub.OwnKinds()...)
	}
	var g errgroup.Group // without a context: a failure for one kind does not stop others
	g.SetLimit(kindsAtOnce)
	failures := make([]error, len(all))
	for i, gvk := range all {
		at, known := positions[nameOf(gvk)]
		if unknown && known {
			continue
		}
		g.Go(func() error { failures[i] = r.kind(ctx, gvk, at, in); return nil })
	}
	_ = g.Wait() // errors are in failures
	if err := errors.Join(append(failures, astray)...); err != nil || unknown {
		return changed, err
	}
	return changed, r.positions.Save(ctx, positionNamespaces, in.position)
}

func allKnown(kinds []schema.GroupVersionKind, positions map[string]string) bool {
	return !slices.ContainsFunc(kinds, func(gvk schema.GroupVersionKind) bool { return positions[nameOf(gvk)] == "" })
}

// placed returns the kinds that placements select.
func (r *Replay) placed(ctx context.Context) ([]schema.GroupVersionKind, error) {
	placements, err := r.hub.Placements(ctx)
	if err != nil {
		return nil, fmt.Errorf("list placements: %w", err)
	}
	if len(placements) == 0 {
		return nil, nil
	}
	inside, err := r.hub.KindsInNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	return placing.Kinds(placements, inside), nil
}

// kind announces what happened to one kind.
func (r *Replay) kind(ctx context.Context, gvk schema.GroupVersionKind, since string, in namespaces) error {
	changes, err := r.hub.Changes(ctx, gvk, since)
	switch {
	case errors.Is(err, outcome.ErrNotServed) && since != "":
		// While the kind was not served, questions about its objects had no answer.
		// When it is served again, all of them are announced, although none has
		// changed.
		return r.positions.Save(ctx, nameOf(gvk), "")
	case errors.Is(err, outcome.ErrNotServed), apierrors.IsForbidden(err):
		return nil // the hub does not serve it yet, or Sluice has no right to it
	}
	if err != nil {
		return fmt.Errorf("ask for the changes of %s: %w", gvk.Kind, err)
	}
	own := slices.Contains(hub.OwnKinds(), gvk)
	var out, outside []hub.Written
	for _, c := range changes.All {
		switch {
		case c.Ours && !changes.Listed: // the stage that wrote it has announced it
		case own && changes.Listed: // the sweep looks at all of them
		case !isTemplate(gvk) || in.hold(c.Key.Namespace):
			out = append(out, c)
		default:
			outside = append(outside, c)
		}
	}
	if err := r.outside(ctx, outside); err != nil {
		return err
	}
	var more []hub.Written
	if isTemplate(gvk) {
		if more, err = r.moved(ctx, gvk, changes, in); err != nil {
			return err
		}
		gone, err := r.vanished(ctx, gvk, changes)
		if err != nil {
			return err
		}
		out = slices.Concat(out, more, gone)
	}
	if err := r.announce(ctx, gvk, out, !changes.Listed && len(more) == 0); err != nil {
		return err
	}
	return r.positions.Save(ctx, nameOf(gvk), changes.Until)
}

func isPolicy(gvk schema.GroupVersionKind) bool { return slices.Contains(hub.PolicyKinds(), gvk) }

// isTemplate reports whether objects of the kind may be templates.
func isTemplate(gvk schema.GroupVersionKind) bool {
	return !isPolicy(gvk) && !slices.Contains(hub.OwnKinds(), gvk)
}

var resourceTypes = map[hub.ChangeType]string{
	hub.Added: events.ResourceAdded, hub.Updated: events.ResourceUpdated, hub.Deleted: events.ResourceDeleted,
}

// announce announces the last change of each object. If the changes are in order, the
// position advances with them, so that a sweep that is cut off has made progress.
func (r *Replay) announce(ctx context.Context, gvk schema.GroupVersionKind, changes []hub.Written, ordered bool) error {
	last := map[propagation.TemplateKey]int{}
	for i, c := range changes {
		last[c.Key] = i
	}
	out := slices.Clone(changes[:0])
	for i, c := range changes {
		if last[c.Key] == i {
			out = append(out, c)
		}
	}
	for chunk := range slices.Chunk(out, eventsAtOnce) {
		follow, err := r.incomplete(ctx, gvk, chunk)
		if err != nil {
			return err
		}
		events, err := announcements(follow)
		if err != nil {
			return err
		}
		if err := r.publish(ctx, events); err != nil {
			return fmt.Errorf("announce what was missed: %w", err)
		}
		if ordered {
			if err := r.positions.Save(ctx, nameOf(gvk), chunk[len(chunk)-1].Version); err != nil {
				return err
			}
		}
	}
	return nil
}

// outside announces changes to placements alone if no source watches the namespace:
// placements also select namespaces without the label for templates, which policies
// ignore.
func (r *Replay) outside(ctx context.Context, changes []hub.Written) error {
	if len(changes) == 0 {
		return nil
	}
	placements, err := r.hub.Placements(ctx)
	if err != nil {
		return fmt.Errorf("list placements: %w", err)
	}
	told := map[propagation.TemplateKey]bool{}
	var out []event.Event
	for _, c := range changes {
		i := slices.IndexFunc(placements, func(p *placementv1.ClusterResourcePlacement) bool {
			return p.DeletionTimestamp == nil && placing.SelectorsOf(p).Concern(c.Key)
		})
		if i < 0 || told[c.Key] {
			continue
		}
		told[c.Key] = true
		e, err := events.New(tick.Stage, event.New(), events.PlacementTouched, events.Data{
			Placement: placements[i].Name, Template: &c.Key, TemplateVersion: c.Version, Reason: "ObjectChanged",
		})
		if err != nil {
			return fmt.Errorf("tell of %s: %w", c.Key, err)
		}
		out = append(out, e)
	}
	for chunk := range slices.Chunk(out, eventsAtOnce) {
		if err := r.publish(ctx, chunk); err != nil {
			return fmt.Errorf("tell placements what was missed: %w", err)
		}
	}
	return nil
}

func announcements(changes []hub.Written) ([]event.Event, error) {
	out := make([]event.Event, len(changes))
	for i, c := range changes {
		var err error
		out[i], err = events.NewResource(announcer, resourceTypes[c.Type], events.Object{TemplateKey: c.Key, Version: c.Version})
		if err != nil {
			return nil, fmt.Errorf("announce %s: %w", c.Key, err)
		}
	}
	return out, nil
}
