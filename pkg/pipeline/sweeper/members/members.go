// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

const (
	// membersAtOnce and kindsAtOnce bound the watches that one sweep has open: each
	// takes two to four seconds, in which it waits.
	membersAtOnce = 32
	kindsAtOnce   = 16
	// memberFor is how long one member may take.
	memberFor = 12 * time.Second
	// pause is how long a member is left alone that was looked at. It is shorter than
	// the shortest time for which an API server remembers what happened (75 seconds),
	// by more than a tick may be late.
	pause = 45 * time.Second
	// eventsAtOnce are handed over in one go.
	eventsAtOnce = 50
	// positionMembers holds up to where the changes in members were told.
	positionMembers = "members"
)

// announcer is the source of what is told.
var announcer = events.Source(tick.Stage)

// Hub is the control plane's API.
type Hub interface {
	Cluster(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error)
	CommitClusterStatus(ctx context.Context, c *clusterv1alpha1.Cluster, status clusterv1alpha1.ClusterStatus) error
	// Identity tells the hub from others, which may put something into a member, too.
	Identity(ctx context.Context) (string, error)
}

// Ask asks a member what happened to a kind since a version, but for what the hub did.
type Ask func(ctx context.Context, cluster string, gvk schema.GroupVersionKind, since, hub string) (member.News, error)

// Publish returns nil once the broker has accepted every event.
type Publish func(ctx context.Context, out []event.Event) error

// Members finds what no member's source told of. It has no state of its own.
type Members struct {
	hub     Hub
	ask     Ask
	publish Publish
	now     func() time.Time
}

// New makes it.
func New(h Hub, a Ask, publish Publish, now func() time.Time) *Members {
	return &Members{hub: h, ask: a, publish: publish, now: now}
}

// place is up to where the changes in one member were told.
type place struct {
	// Looked is when it had its turn.
	Looked time.Time `json:"looked"`
	// Kinds are the versions, by the kinds' names.
	Kinds map[string]string `json:"kinds,omitempty"`
	// Lost: nobody knows any more up to where, and it need not have joined just now.
	Lost bool `json:"lost,omitempty"`
}

// Sweep tells what happened to these kinds in the members that are ready, as many as
// there is time for; the next goes on with the others. A member that is not ready keeps
// its place.
func (m *Members) Sweep(ctx context.Context, t *tick.Tick, ready map[string]bool, kinds []schema.GroupVersionKind) error {
	hub, err := m.hub.Identity(ctx)
	if err != nil {
		return err
	}
	before := map[string]place{}
	if !t.Read(positionMembers, &before) {
		before = map[string]place{}
		for name := range ready {
			before[name] = place{Lost: true}
		}
	}
	looks := due(t.Now, before, ready)
	var g errgroup.Group // without a context: what fails for one member ends no other
	g.SetLimit(membersAtOnce)
	for _, l := range looks {
		g.Go(func() error {
			if ctx.Err() == nil {
				m.look(ctx, l, kinds, hub)
			}
			return nil
		})
	}
	_ = g.Wait() // each has said how it went
	after := map[string]place{}
	for name, at := range before {
		if _, registered := ready[name]; registered {
			after[name] = at
		}
	}
	var failed error
	for _, l := range looks {
		if !l.done {
			continue
		}
		after[l.name] = place{Looked: l.looked(t.Now.UTC()), Kinds: l.kinds}
		if l.lost || l.before.Lost {
			t.Revisit(l.name)
		}
		failed = errors.Join(failed, l.failed, m.watchable(ctx, l))
	}
	return errors.Join(failed, t.Write(positionMembers, after))
}

// due are the members that are to be looked at, who waited longest first.
func due(now time.Time, before map[string]place, ready map[string]bool) (looks []*look) {
	for name, is := range ready {
		at, known := before[name]
		if is && now.Sub(at.Looked) >= pause {
			looks = append(looks, &look{name: name, before: at, anew: at.Lost || !known})
		}
	}
	slices.SortFunc(looks, func(a, b *look) int {
		return cmp.Or(a.before.Looked.Compare(b.before.Looked), strings.Compare(a.name, b.name))
	})
	return looks
}

// look is a look at one member, and what came of it.
type look struct {
	name   string
	before place
	anew   bool // it begins at its present

	done   bool
	cut    bool // the sweep had no more time for it
	kinds  map[string]string
	lost   bool
	unsure bool     // some kinds could not be asked for
	denied []string // the kinds that it does not let us watch
	failed error
}

// looked is when it had its turn: who was cut short comes first next time.
func (l *look) looked(now time.Time) time.Time {
	if l.cut {
		return l.before.Looked
	}
	return now
}

// look looks at one member.
func (m *Members) look(sweep context.Context, l *look, kinds []schema.GroupVersionKind, hub string) {
	ctx, cancel := context.WithTimeout(sweep, memberFor)
	defer cancel()
	found := make([]found, len(kinds))
	var g errgroup.Group
	g.SetLimit(kindsAtOnce)
	for i, gvk := range kinds {
		g.Go(func() error { found[i] = m.kind(ctx, l, gvk, hub); return nil })
	}
	_ = g.Wait() // each has said how it went
	l.kinds = map[string]string{}
	for i, gvk := range kinds {
		f := found[i]
		if f.until != "" {
			l.kinds[nameOf(gvk)] = f.until
		}
		if f.denied {
			l.denied = append(l.denied, gvk.GroupKind().String())
		}
		l.lost, l.unsure = l.lost || f.lost, l.unsure || f.unsure
		l.failed = errors.Join(l.failed, f.failed)
	}
	l.cut = sweep.Err() != nil && (l.unsure || l.failed != nil)
	l.done = !l.anew || !l.cut // else it begins with the next sweep
}

// found is what came of asking for one kind.
type found struct {
	until string // empty: it is not known
	// lost: what happened before; denied: it may not be watched; unsure: nobody said.
	lost, denied, unsure bool
	failed               error
}

// kind tells what happened to one kind in one member.
func (m *Members) kind(ctx context.Context, l *look, gvk schema.GroupVersionKind, hub string) found {
	since := l.before.Kinds[nameOf(gvk)]
	n, err := m.ask(ctx, l.name, gvk, since, hub)
	var notServed *member.NotServed
	var refused *member.Refused
	var unreachable *member.Unreachable
	switch {
	case errors.As(err, &notServed):
		return found{}
	case errors.As(err, &refused):
		return found{denied: true}
	case errors.As(err, &unreachable), errors.Is(err, outcome.ErrGone), err != nil && ctx.Err() != nil:
		return found{until: since, unsure: true} // the registrar tells, or it was out of time
	case err != nil:
		return found{until: since, unsure: true, failed: fmt.Errorf("ask %s for the changes of %s: %w", l.name, gvk.Kind, err)}
	case l.anew:
		return found{until: n.Until}
	case n.Lost:
		return found{until: n.Until, lost: true}
	}
	told, err := m.tell(ctx, l.name, n.Changes)
	switch {
	case err == nil:
		return found{until: n.Until}
	case since == "": // they were in no order
		return found{failed: err}
	}
	return found{until: cmp.Or(told, since), failed: err}
}

var resourceTypes = map[bool]string{false: events.ResourceUpdated, true: events.ResourceDeleted}

// tell tells the last of what happened to each object, and up to which version it came.
func (m *Members) tell(ctx context.Context, cluster string, changes []member.Change) (told string, err error) {
	last := map[member.Ref]int{}
	for i, c := range changes {
		last[c.Ref] = i
	}
	var out []event.Event
	var versions []string
	for i, c := range changes {
		if last[c.Ref] != i {
			continue
		}
		e, err := events.NewResource(announcer, resourceTypes[c.Deleted], events.Object{TemplateKey: c.Ref, Version: c.Version, Cluster: cluster})
		if err != nil {
			continue // no object has such a name: the member made it up
		}
		out, versions = append(out, e), append(versions, c.Version)
	}
	for len(out) > 0 {
		n := min(eventsAtOnce, len(out))
		if err := m.publish(ctx, out[:n]); err != nil {
			return told, fmt.Errorf("tell what changed in %s: %w", cluster, err)
		}
		told, out, versions = versions[n-1], out[n:], versions[n:]
	}
	return told, nil
}

func nameOf(gvk schema.GroupVersionKind) string { return gvk.GroupVersion().String() + " " + gvk.Kind }
