// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/pkg/pipeline/reporter"
	"sluice.dev/pkg/source/pacing"
)

// follower watches in each member the kinds that are applied there, as
// Knative's receive adapter does with a member's kubeconfig.
type follower struct {
	p     *pipeline
	pacer *pacing.Pacer[news]

	mu      sync.Mutex
	follows map[followed]bool
}

// followed is a kind in a member.
type followed struct {
	cluster string
	gvk     schema.GroupVersionKind
}

// news is what is to be told of an object in a member.
type news struct {
	ctx       context.Context
	eventType string
	object    events.Object
}

// corrected is how often an object in a member is told of, and so corrected, which
// somebody changes back each time. The first change is told at once.
const corrected = time.Second

func newFollower(p *pipeline) *follower {
	publish := func(n news) { p.publish(n.ctx, n.eventType, n.object) }
	return &follower{p: p, pacer: pacing.New(corrected, publish), follows: map[followed]bool{}}
}

// appliers finds members for the applier.
func (f *follower) appliers(ctx context.Context, cluster string) (applier.Member, error) {
	c, err := f.p.fleet.Client(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return observedMember{c, f, cluster}, nil
}

// reporters finds members for the reporter.
func (f *follower) reporters(ctx context.Context, cluster string) (reporter.Member, error) {
	return f.p.fleet.Client(ctx, cluster)
}

// observedMember is a member whose objects are watched from the first look at
// their kind on, or from the first that is created.
type observedMember struct {
	*member.Client
	f       *follower
	cluster string
}

// Look has the object's kind watched, and looks.
func (m observedMember) Look(ctx context.Context, ref member.Ref, how member.Looking) (applying.Read[*applying.Observed], error) {
	if !how.Live {
		m.f.follow(ctx, followed{m.cluster, ref.GroupVersionKind()})
	}
	return m.Client.Look(ctx, ref, how)
}

// Create has the object's kind watched, and creates it: nobody looks at what is created
// unread, and is never touched again.
func (m observedMember) Create(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any) (*applying.Observed, error) {
	m.f.follow(ctx, followed{m.cluster, propagation.KeyOf(manifest).GroupVersionKind()})
	return m.Client.Create(ctx, w, hub, manifest)
}

// follow starts the watch of a kind in a member, if it does not run. It
// outlives the event that starts it.
func (f *follower) follow(ctx context.Context, k followed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.follows[k] {
		f.follows[k] = true
		go f.keep(function.WithLogger(f.p.ctx, function.Logger(ctx)), k)
	}
}

// keep watches until the process ends, the cluster leaves, or it turns out that
// it does not serve the kind.
func (f *follower) keep(ctx context.Context, k followed) {
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.follows, k)
	}()
	for ctx.Err() == nil {
		var notServed *member.NotServed
		if err := f.watch(ctx, k); errors.Is(err, outcome.ErrGone) || errors.As(err, &notServed) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

func (f *follower) watch(ctx context.Context, k followed) error {
	c, err := f.p.fleet.Client(ctx, k.cluster)
	if err != nil {
		return err
	}
	return c.Watch(ctx, k.gvk, func(change member.Change) {
		eventType := events.ResourceUpdated
		if change.Deleted {
			eventType = events.ResourceDeleted
		}
		f.tell(news{ctx, eventType, events.Object{TemplateKey: change.Ref, Version: change.Version, Cluster: k.cluster}}, change.Touched)
	})
}

// tell publishes the news at once, unless somebody touched the object less than a second
// ago: then it waits, and later news takes its place. A status is not delayed by others.
func (f *follower) tell(n news, touched bool) {
	may := f.pacer.Aside
	if touched {
		may = f.pacer.Now
	}
	if may(n.object.Cluster+"/"+n.object.ID(), n) {
		f.p.publish(n.ctx, n.eventType, n.object)
	}
}
