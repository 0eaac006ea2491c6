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
	// membersAtOnce and kindsAtOnce limit the watches that one sweep has open: each
	// lasts two to four seconds, most of it waiting.
	membersAtOnce = 32
	kindsAtOnce   = 16
	// memberFor is how long one member may take.
	memberFor = 12 * time.Second
	// pause is how long a member is left alone after its turn. It is shorter than the
	// shortest time for which an API server keeps changes (75 seconds), by more than a
	// tick may be late.
	pause = 45 * time.Second
	// eventsAtOnce is how many events are published together.
	eventsAtOnce = 50
	// positionMembers is the name under which the places of the members are stored.
	positionMembers = "members"
)

// announcer is the source of the events.
var announcer = events.Source(tick.Stage)

// Hub is the control plane's API.
type Hub interface {
	Cluster(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error)
	CommitClusterStatus(ctx context.Context, c *clusterv1alpha1.Cluster, status clusterv1alpha1.ClusterStatus) error
	// Identity returns the identity of the hub; other hubs may have objects in a
	// member, too.
	Identity(ctx context.Context) (string, error)
}

// Ask returns what happened to a kind in a member since a version, apart from what the
// hub itself did.
type Ask func(ctx context.Context, cluster string, gvk schema.GroupVersionKind, since, hub string) (member.News, error)

// Publish returns nil once the broker has accepted every event.
type Publish func(ctx context.Context, out []event.Event) error

// Members finds changes that no member's source reported. It has no state of its own.
type Members struct {
	hub     Hub
	ask     Ask
	publish Publish
	now     func() time.Time
}

// New returns a Members.
func New(h Hub, a Ask, publish Publish, now func() time.Time) *Members {
	return &Members{hub: h, ask: a, publish: publish, now: now}
}

// place is up to where the changes of one member were announced.
type place struct {
	// Looked is when the member had its turn.
	Looked time.Time `json:"looked"`
	// Kinds are the versions, by the kinds' names.
	Kinds map[string]string `json:"kinds,omitempty"`
	// Lost: the versions are not known any more, although the member may have joined
	// long ago.
	Lost bool `json:"lost,omitempty"`
}

// Sweep announces what happened to these kinds in the ready members, as many as there
// is time for; the next sweep continues with the others. A member that is not ready
// keeps its place.
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
	var g errgroup.Group // without a context: a failure for one member does not stop others
	g.SetLimit(membersAtOnce)
	for _, l := range looks {
		g.Go(func() error {
			if ctx.Err() == nil {
				m.look(ctx, l, kinds, hub)
			}
			return nil
		})
	}
	_ = g.Wait() // errors are in looks
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

// due returns the members whose turn it is; those that waited longest come first.
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

// look is the turn of one member, and its outcome.
type look struct {
	name   string
	before place
	anew   bool // start at the present version

	done   bool
	cut    bool // the sweep had no more time for it
	kinds  map[string]string
	lost   bool
	unsure bool     // some kinds could not be read
	denied []string // the kinds that it does not allow to watch
	failed error
}

// looked returns when the member had its turn: one that was cut short comes first next
// time.
func (l *look) looked(now time.Time) time.Time {
	if l.cut {
		return l.before.Looked
	}
	return now
}

// look handles one member.
func (m *Members) look(sweep context.Context, l *look, kinds []schema.GroupVersionKind, hub string) {
	ctx, cancel := context.WithTimeout(sweep, memberFor)
	defer cancel()
	found := make([]found, len(kinds))
	var g errgroup.Group
	g.SetLimit(kindsAtOnce)
	for i, gvk := range kinds {
		g.Go(func() error { found[i] = m.kind(ctx, l, gvk, hub); return nil })
	}
	_ = g.Wait() // errors are in found
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
	l.done = !l.anew || !l.cut // otherwise it starts with the next sweep
}

// found is the outcome for one kind.
type found struct {
	until string // empty: not known
	// lost: earlier changes are not known any more; denied: watching is not allowed;
	// unsure: there was no answer.
	lost, denied, unsure bool
	failed               error
}

// kind announces what happened to one kind in one member.
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
		return found{until: since, unsure: true} // the registrar reports it, or there was no time
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
	case since == "": // without a version they have no order
		return found{failed: err}
	}
	return found{until: cmp.Or(told, since), failed: err}
}

var resourceTypes = map[bool]string{false: events.ResourceUpdated, true: events.ResourceDeleted}

// tell announces the last change of each object, and returns the version that it
// reached.
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
			continue // no object has such a name: the member sent a false one
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
