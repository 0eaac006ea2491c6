// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	"sluice.dev/pkg/core/matching"
	"sluice.dev/pkg/core/placing"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

const (
	// linger is how long a kind that no policy selects any more is followed:
	// each change of the kinds restarts the sources. Who has just started knows
	// of no kind for how long nobody has selected it.
	linger = 10 * time.Minute
	// kindsAtOnce bounds the watches that one sweep has open.
	kindsAtOnce = 16
	// eventsAtOnce are handed over in one go.
	eventsAtOnce = 50
	// positionNamespaces is the position that holds the namespaces of templates.
	positionNamespaces = "namespaces"
)

// announcer is the source of what is announced again.
var announcer = events.Source(Name)

// Missed finds what no source told of, on a hub that this process does not
// watch: sources tell nothing of what exists when they start, and drop an event
// that they cannot send. It asks for all changes of each kind since it asked
// last, and announces them as a source would have.
type Missed struct {
	hub       ChangingHub
	positions Positions
	sources   Sources
	letters   DeadLetters
	publish   Publish

	// finding is held by who looks: a second one would announce the same. Nobody
	// waits for it: what is announced may come back as a policy's event before
	// the broker has accepted it.
	finding sync.Mutex
	// asked is set by who wants somebody to look, everything where more is wanted
	// than kinds that were never asked for.
	asked, everything atomic.Bool

	// since is when it came to be.
	since time.Time
	mu    sync.Mutex
	// wanted is when each kind was selected last.
	wanted map[schema.GroupVersionKind]time.Time
}

// NewMissed makes it.
func NewMissed(h ChangingHub, p Positions, s Sources, l DeadLetters, publish Publish) *Missed {
	return &Missed{hub: h, positions: p, sources: s, letters: l, publish: publish, wanted: map[schema.GroupVersionKind]time.Time{}}
}

// Finding has the stage look for what no source told of. Without it the process
// watches the hub, and misses nothing.
func (s *Stage) Finding(m *Missed) *Stage {
	s.missed, m.since = m, s.now()
	return s
}

// policy has the sources follow the policies, and announces the objects of kinds
// that nobody selected before.
func (s *Stage) policy(ctx context.Context) error {
	if s.missed == nil {
		return nil
	}
	return s.find(ctx, true)
}

// isSource tells whether an object is the Deployment of a source: no other is told of
// in Sluice's namespace.
func isSource(key propagation.TemplateKey) bool {
	return key.Namespace == propagation.SystemNamespace && key.Kind == "Deployment"
}

// restarted finds what happened while a source started anew, of which its Deployment
// tells: at the latest when the new one watches already.
func (s *Stage) restarted(ctx context.Context) error {
	if s.missed == nil {
		return nil
	}
	return s.find(ctx, false)
}

// ours tells whether an event is about a write of this system's own, which has
// told of it. What was announced again is another's.
func (s *Stage) ours(ctx context.Context, e event.Event, key propagation.TemplateKey) (bool, error) {
	if s.missed == nil || e.Source() == announcer || e.Type() == events.ResourceDeleted {
		return false, nil
	}
	return s.missed.hub.Ours(ctx, key)
}

// find announces what was missed; unknown: of kinds alone that were never asked
// for.
func (s *Stage) find(ctx context.Context, unknown bool) error {
	m := s.missed
	if !unknown {
		m.everything.Store(true)
	}
	m.asked.Store(true)
	changed := false
	for m.asked.Load() && m.finding.TryLock() {
		more, err := s.findAsked(ctx)
		m.finding.Unlock()
		if err != nil {
			return err
		}
		changed = changed || more
	}
	if unknown {
		return s.afterwards(ctx, changed)
	}
	return nil
}

// findAsked looks for as long as it is asked to.
func (s *Stage) findAsked(ctx context.Context) (changed bool, err error) {
	m := s.missed
	for m.asked.Swap(false) {
		more, err := s.findOnce(ctx, !m.everything.Swap(false))
		if err != nil {
			m.everything.Store(true) // of the next, for others may have wanted it
			return changed, err
		}
		changed = changed || more
	}
	return changed, nil
}

// findOnce also tells whether sources start anew.
func (s *Stage) findOnce(ctx context.Context, unknown bool) (changed bool, err error) {
	m := s.missed
	kinds, err := s.templates(ctx)
	if err != nil {
		return false, err
	}
	positions, err := m.positions.Load(ctx)
	if err != nil {
		return false, err
	}
	if unknown && allKnown(kinds, positions) {
		return false, nil
	}
	selector, changed, err := m.sources.Follow(ctx, kinds, s.now().Sub(m.since) < linger)
	if err != nil {
		return false, fmt.Errorf("have the sources follow the policies: %w", err)
	}
	in, err := m.namespaces(ctx, selector, positions)
	if err != nil {
		return false, err
	}
	all := append(slices.Clone(kinds), hub.PolicyKinds()...)
	if !unknown {
		all = append(all, hub.OwnKinds()...)
	}
	var g errgroup.Group // without a context: what fails for one kind ends no other
	g.SetLimit(kindsAtOnce)
	failures := make([]error, len(all))
	for i, gvk := range all {
		at, known := positions[nameOf(gvk)]
		if unknown && known {
			continue
		}
		g.Go(func() error { failures[i] = s.kind(ctx, gvk, at, in); return nil })
	}
	_ = g.Wait() // each has said how it went
	if err := errors.Join(failures...); err != nil || unknown {
		return changed, err
	}
	return changed, m.positions.Save(ctx, positionNamespaces, in.position)
}

func allKnown(kinds []schema.GroupVersionKind, positions map[string]string) bool {
	return !slices.ContainsFunc(kinds, func(gvk schema.GroupVersionKind) bool { return positions[nameOf(gvk)] == "" })
}

// restarts are the pauses after which is looked for what happened while sources
// started anew.
var restarts = []time.Duration{3 * time.Second, 5 * time.Second, 10 * time.Second}

// afterwards finds what happened while sources started anew, earlier than the
// next tick would.
func (s *Stage) afterwards(ctx context.Context, changed bool) error {
	if !changed {
		return nil
	}
	for _, pause := range restarts {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		if err := s.find(ctx, false); err != nil {
			return err
		}
	}
	return nil
}

// templates are the kinds that policies and placements select, and what these may
// depend on; what nobody selects any more lingers.
func (s *Stage) templates(ctx context.Context) ([]schema.GroupVersionKind, error) {
	policies, err := s.hub.Policies(ctx)
	if err != nil {
		return nil, fmt.Errorf("list policies: %w", err)
	}
	placed, err := s.placed(ctx)
	if err != nil {
		return nil, err
	}
	m := s.missed
	m.mu.Lock()
	defer m.mu.Unlock()
	now := s.now()
	known := map[schema.GroupKind]schema.GroupVersionKind{}
	for gvk := range m.wanted {
		known[gvk.GroupKind()] = gvk
	}
	for _, gvk := range append(matching.Kinds(policies), placed...) {
		// In one version, and in none anew: that would start the sources anew.
		if former, ok := known[gvk.GroupKind()]; ok {
			gvk = former
		}
		known[gvk.GroupKind()] = gvk
		m.wanted[gvk] = now
	}
	var kinds []schema.GroupVersionKind
	for gvk, last := range m.wanted {
		if now.Sub(last) > linger {
			delete(m.wanted, gvk)
			continue
		}
		kinds = append(kinds, gvk)
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return kinds, nil
}

// placed are the kinds that placements select.
func (s *Stage) placed(ctx context.Context) ([]schema.GroupVersionKind, error) {
	placements, err := s.missed.hub.Placements(ctx)
	if err != nil {
		return nil, fmt.Errorf("list placements: %w", err)
	}
	if len(placements) == 0 {
		return nil, nil
	}
	inside, err := s.missed.hub.KindsInNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	return placing.Kinds(placements, inside), nil
}

// namespaces are where templates may be.
type namespaces struct {
	all      bool
	known    map[string]bool
	fresh    map[string]bool // since the last sweep
	position string
}

// hold tells whether an object may be a template.
func (n namespaces) hold(namespace string) bool {
	return n.all || namespace == "" || n.known[namespace]
}

func (m *Missed) namespaces(ctx context.Context, selector string, positions map[string]string) (namespaces, error) {
	n := namespaces{all: selector == "", known: map[string]bool{}, fresh: map[string]bool{}}
	if n.all {
		return n, nil
	}
	names, err := m.hub.Namespaces(ctx, selector)
	if err != nil {
		return n, fmt.Errorf("list the namespaces of templates: %w", err)
	}
	slices.Sort(names)
	n.position = strings.Join(names, " ")
	before, swept := positions[positionNamespaces]
	for _, name := range names {
		n.known[name] = true
		n.fresh[name] = swept && !slices.Contains(strings.Fields(before), name)
	}
	return n, nil
}

func nameOf(gvk schema.GroupVersionKind) string { return gvk.GroupVersion().String() + " " + gvk.Kind }

// kind announces what happened to one kind.
func (s *Stage) kind(ctx context.Context, gvk schema.GroupVersionKind, since string, in namespaces) error {
	m := s.missed
	changes, err := m.hub.Changes(ctx, gvk, since)
	if errors.Is(err, outcome.ErrNotServed) || apierrors.IsForbidden(err) {
		return nil // the hub does not serve it yet, or nobody has granted it
	}
	if err != nil {
		return fmt.Errorf("ask for the changes of %s: %w", gvk.Kind, err)
	}
	own := slices.Contains(hub.OwnKinds(), gvk)
	var out, outside []hub.Written
	for _, c := range changes.All {
		switch {
		case c.Ours && !changes.Listed: // who wrote it has told
		case own && changes.Listed: // the sweep has looked at all of them
		case !isTemplate(gvk) || in.hold(c.Key.Namespace):
			out = append(out, c)
		default:
			outside = append(outside, c)
		}
	}
	if err := s.outside(ctx, outside); err != nil {
		return err
	}
	var more []hub.Written
	if isTemplate(gvk) {
		if more, err = m.moved(ctx, gvk, changes, in); err != nil {
			return err
		}
		out = append(out, more...)
	}
	if err := s.announce(ctx, gvk, out, !changes.Listed && len(more) == 0); err != nil {
		return err
	}
	return m.positions.Save(ctx, nameOf(gvk), changes.Until)
}

func isPolicy(gvk schema.GroupVersionKind) bool { return slices.Contains(hub.PolicyKinds(), gvk) }

// isTemplate tells whether objects of the kind may be templates.
func isTemplate(gvk schema.GroupVersionKind) bool {
	return !isPolicy(gvk) && !slices.Contains(hub.OwnKinds(), gvk)
}

// moved are the objects that were there when their namespace became one of
// templates.
func (m *Missed) moved(ctx context.Context, gvk schema.GroupVersionKind, c hub.Changes, in namespaces) ([]hub.Written, error) {
	fresh := false
	for _, yes := range in.fresh {
		fresh = fresh || yes
	}
	if !fresh || c.Listed {
		return nil, nil
	}
	all, err := m.hub.Changes(ctx, gvk, "")
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	return slices.DeleteFunc(all.All, func(w hub.Written) bool { return !in.fresh[w.Key.Namespace] }), nil
}

var resourceTypes = map[hub.ChangeType]string{
	hub.Added: events.ResourceAdded, hub.Updated: events.ResourceUpdated, hub.Deleted: events.ResourceDeleted,
}

// announce tells the last of what happened to each object. Where the changes are
// in their order, the position follows them, so that a sweep that is cut off has
// got somewhere.
func (s *Stage) announce(ctx context.Context, gvk schema.GroupVersionKind, changes []hub.Written, ordered bool) error {
	m := s.missed
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
		follow, err := s.incomplete(ctx, gvk, chunk)
		if err != nil {
			return err
		}
		events, err := announcements(follow)
		if err != nil {
			return err
		}
		if err := m.publish(ctx, events); err != nil {
			return fmt.Errorf("announce what was missed: %w", err)
		}
		if ordered {
			if err := m.positions.Save(ctx, nameOf(gvk), chunk[len(chunk)-1].Version); err != nil {
				return err
			}
		}
	}
	return nil
}

// outside tells placements alone of what changed where no source looks: they select
// namespaces without the label of templates too, of which policies take nothing.
func (s *Stage) outside(ctx context.Context, changes []hub.Written) error {
	if len(changes) == 0 {
		return nil
	}
	placements, err := s.missed.hub.Placements(ctx)
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
		e, err := events.New(Name, event.New(), events.PlacementTouched, events.Data{
			Placement: placements[i].Name, Template: &c.Key, TemplateVersion: c.Version, Reason: "ObjectChanged",
		})
		if err != nil {
			return fmt.Errorf("tell of %s: %w", c.Key, err)
		}
		out = append(out, e)
	}
	for chunk := range slices.Chunk(out, eventsAtOnce) {
		if err := s.missed.publish(ctx, chunk); err != nil {
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
