// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package sweeper

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/auditor"
	"sluice.dev/pkg/pipeline/sweeper/count"
	"sluice.dev/pkg/pipeline/sweeper/due"
	"sluice.dev/pkg/pipeline/sweeper/interpreters"
	"sluice.dev/pkg/pipeline/sweeper/members"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/rebuild"
	"sluice.dev/pkg/pipeline/sweeper/registrar"
	"sluice.dev/pkg/pipeline/sweeper/removals"
	"sluice.dev/pkg/pipeline/sweeper/replay"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

// Name of the stage.
const Name = tick.Stage

// Stage is the sweeper. Its only state is which sweep is under way.
type Stage struct {
	hub       Hub
	positions rebuild.Positions
	now       func() time.Time

	rebuilder *rebuild.Rebuilder
	registrar *registrar.Registrar
	auditor   *auditor.Auditor
	removals  *removals.Judge
	due       *due.Due
	count     *count.Counter
	rules     *interpreters.Follower
	// replay and letters are nil if this process watches the hub, members if it watches
	// the members.
	replay  *replay.Replay
	letters Letters
	members *members.Members

	// pageSize is how many bindings a sweep reads; 0: all, if this process watches
	// them.
	pageSize int

	// sweeping is locked during a sweep. It only saves work: another replica may sweep
	// at the same time.
	sweeping sync.Mutex
}

// New makes the stage.
func New(h Hub, i Index, at rebuild.Positions, p registrar.Probe, now func() time.Time) *Stage {
	return &Stage{
		hub: h, positions: at, now: now,
		rebuilder: rebuild.New(h, i, at),
		registrar: registrar.New(h, p, now),
		auditor:   auditor.New(h, i, now),
		removals:  removals.New(h, now),
		due:       due.New(h, i, now),
		count:     count.New(h, i, now),
		rules:     interpreters.New(h, now),
	}
}

// Checking makes the stage report on policies which rights their kinds lack.
func (s *Stage) Checking(r count.Rights) *Stage {
	s.count.Checking(r)
	return s
}

// Mirroring makes the stage keep a MemberCluster for each Cluster, and audit
// placements.
func (s *Stage) Mirroring(m Members, u registrar.Usage) *Stage {
	s.registrar.Mirroring(m, u)
	s.auditor.Placing(m)
	return s
}

// Identifying makes the stage write who members are into Clusters that do not say it.
func (s *Stage) Identifying(w registrar.Identities, of registrar.Identity) *Stage {
	s.registrar.Identifying(w, of)
	return s
}

// Listing makes the stage list on each Cluster the kinds that the member serves.
func (s *Stage) Listing(k registrar.Kinds) *Stage {
	s.registrar.Listing(k)
	return s
}

// Replaying makes the stage look for changes that no source reported, and read bindings
// in pages. Without it, the process watches the hub, misses nothing, and looks at all
// bindings in each sweep.
func (s *Stage) Replaying(r *replay.Replay) *Stage {
	s.replay = r
	return s.paging(page.Size)
}

// paging makes a sweep read a page of bindings instead of all.
func (s *Stage) paging(size int) *Stage {
	s.pageSize = size
	s.auditor.Paging()
	return s
}

// ReplayingMembers makes the stage look for changes that no member's source reported,
// for the kinds that sources watch. Without it, the process watches the members.
func (s *Stage) ReplayingMembers(a members.Ask, publish members.Publish) *Stage {
	s.members = members.New(s.hub, a, publish, s.now)
	return s
}

// Resending makes the stage send dead letters once more.
func (s *Stage) Resending(l Letters) *Stage {
	s.letters = l
	return s
}

// Start fills Redis from the hub, whatever is in it. It is for the process that runs
// all stages, which misses deletions while it does not run.
func (s *Stage) Start(ctx context.Context) error { return s.rebuilder.Start(ctx) }

// Rebuild fills Redis from the hub if it lost its data.
func (s *Stage) Rebuild(ctx context.Context) error { return s.rebuilder.Rebuild(ctx) }

// Name returns the name of the stage's function.
func (s *Stage) Name() string { return Name }

// Handle announces what is not as it should be. It is safe to call twice.
func (s *Stage) Handle(ctx context.Context, e event.Event) ([]event.Event, error) {
	switch e.Type() {
	case events.IndexLost:
		// Many stages report one loss. The first report starts the rebuild.
		if built, err := s.rebuilder.Built(ctx); built || err != nil {
			return nil, err
		}
		return s.sweep(ctx, e)
	case events.GatesChanged, events.Ping:
		return s.sweep(ctx, e)
	case events.SourcesChanged:
		if s.replay == nil {
			return nil, nil
		}
		return s.replay.Changed(ctx, e)
	}
	o, err := events.DecodeResource(e)
	if err != nil {
		return nil, outcome.Terminal(err)
	}
	return s.changed(ctx, e, o)
}

// changed calls the room for an object that somebody wrote.
func (s *Stage) changed(ctx context.Context, e event.Event, o events.Object) ([]event.Event, error) {
	if s.replay != nil {
		if replay.IsSource(o.TemplateKey) {
			return s.replay.Source(ctx, e)
		}
		if ours, err := s.replay.Ours(ctx, e, o.TemplateKey); ours || err != nil {
			return nil, err
		}
	}
	if _, ok := hub.PolicyKeyOf(o.TemplateKey); ok {
		return s.policy(ctx, e)
	}
	if cluster, ok := hub.ClusterOf(o.TemplateKey); ok {
		return s.cluster(ctx, e, cluster)
	}
	if member, ok := hub.MemberOf(o.TemplateKey); ok {
		return s.registrar.Relabelled(ctx, e, member)
	}
	if key, ok := hub.BindingKeyOf(o.TemplateKey); ok {
		return s.auditor.Binding(ctx, e, key)
	}
	if key, ok := hub.WorkKeyOf(o.TemplateKey); ok {
		return s.auditor.Work(ctx, e, key)
	}
	if replay.IsSource(o.TemplateKey) {
		return nil, nil // only stages that do not watch it themselves need the event
	}
	return nil, outcome.Terminal(fmt.Errorf("%w: the sweeper watches no %s", events.ErrMalformed, o.Kind))
}

// cluster handles a changed Cluster, and makes a source watch a member that joined.
func (s *Stage) cluster(ctx context.Context, e event.Event, name string) ([]event.Event, error) {
	told, err := s.registrar.Changed(ctx, e, name)
	if err != nil || s.replay == nil || e.Type() != events.ResourceAdded {
		return told, err
	}
	out := events.From(Name, e)
	replay.Again(out)
	more, err := out.Events()
	return append(told, more...), err
}

// policy makes the sources watch the kinds of a policy.
func (s *Stage) policy(ctx context.Context, e event.Event) ([]event.Event, error) {
	// If the hub was restored, Redis rejected the policy's suspension as outdated.
	if _, err := s.rebuilder.Restored(ctx); err != nil {
		return nil, err
	}
	if s.replay == nil {
		return nil, nil
	}
	return s.replay.Policies(ctx, e)
}
