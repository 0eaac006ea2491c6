// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier

import (
	"context"
	"sync"
	"time"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/member"
)

// corrections remembers when this process corrected objects of a Work last. It is only a
// hint: other replicas may have corrected them, too.
type corrections struct {
	mu sync.Mutex
	of map[propagation.WorkKey]map[string][]time.Time
	// left is how many Works were not over when it last looked.
	left int
}

const (
	// mostCorrected is how many Works corrections remembers at least before it looks which
	// are over; it looks again when there are twice as many as were left.
	mostCorrected = 1000
	// recently is how long a sweep leaves a Work alone that is fought over after it was
	// corrected: the member's next change is corrected anyway.
	recently = time.Second
)

// often reports whether an object of the Work was corrected so often that somebody fights
// over it, if it is corrected once more now.
func (c *corrections) often(key propagation.WorkKey, object string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	times := c.of[key][object]
	first := len(times) - applying.FightCorrections + 1
	return first >= 0 && now.Sub(times[first]) < applying.FightWithin
}

// note records that an object of the Work was corrected.
func (c *corrections) note(key propagation.WorkKey, object string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[propagation.WorkKey]map[string][]time.Time{}
	}
	if len(c.of) >= max(mostCorrected, 2*c.left) {
		c.forget(now)
	}
	if c.of[key] == nil {
		c.of[key] = map[string][]time.Time{}
	}
	times := append(c.of[key][object], now)
	c.of[key][object] = times[max(0, len(times)-applying.FightCorrections):]
}

// forget forgets what is over. The lock is held.
func (c *corrections) forget(now time.Time) {
	for key := range c.of {
		if now.Sub(c.latest(key)) >= applying.FightWithin {
			delete(c.of, key)
		}
	}
	c.left = len(c.of)
}

// latest is when an object of the Work was corrected last. The lock is held.
func (c *corrections) latest(key propagation.WorkKey) (last time.Time) {
	for _, times := range c.of[key] {
		if at := times[len(times)-1]; at.After(last) {
			last = at
		}
	}
	return last
}

// since reports whether an object of the Work was corrected within d.
func (c *corrections) since(key propagation.WorkKey, now time.Time, d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Sub(c.latest(key)) < d
}

// fought returns what to say of an object that is about to be corrected if somebody fights
// over it; empty: nothing new. To say who, it reads the object once for each fight.
func (s *Stage) fought(ctx context.Context, m Member, in applying.Input, d applying.Decision) string {
	if !applying.Corrects(in, d) || !s.corrections.often(in.Work.Key, propagation.KeyOf(in.Manifest).ID(), s.now()) {
		return ""
	}
	if applying.Fighting(in.Work.Status.Conditions) != nil {
		return ""
	}
	if in.Live.Answer == applying.Found {
		if live, err := m.Look(ctx, refOf(in.Manifest), member.Looking{Live: true, Whole: true}); err == nil && live.Answer == applying.Found {
			in.Live = live
		}
	}
	return applying.Fought(in)
}

// fights returns what to say of objects of the Work over which a fight began, and whether
// all fights are over: neither this process has had to correct an object for a while, nor
// another one, by when the member's objects were changed. With clocks that are far apart
// only the former is known.
func (s *Stage) fights(w *propagation.Work, applied []done) (began []string, over bool) {
	now := s.now()
	over = !s.corrections.since(w.Key, now, applying.FightWithin)
	for _, a := range applied {
		began, over = said(began, a.fought), over && now.Sub(a.at).Abs() >= applying.FightWithin
	}
	return began, over
}

// placedFights is fights for the Work of a placement. While some of its objects were not
// looked at, it is not known that a fight is over.
func (s *Stage) placedFights(w *propagation.Work, outcomes []telling.Outcome) (began []string, over bool) {
	now := s.now()
	over = !s.corrections.since(w.Key, now, applying.FightWithin)
	for _, o := range outcomes {
		began, over = said(began, o.Fought), over && o.Reason != "" && now.Sub(o.At).Abs() >= applying.FightWithin
	}
	return began, over
}

func said(all []string, what string) []string {
	if what != "" {
		all = append(all, what)
	}
	return all
}

// busy reports whether a sweep need not look at the Work: somebody fights over it, and it
// was corrected just now.
func (s *Stage) busy(msg events.Data, w *propagation.Work) bool {
	return msg.Reason == events.ReasonUnfinished && !w.Deleting && applying.Fighting(w.Status.Conditions) != nil && s.corrections.since(w.Key, s.now(), recently)
}

// tellFights records an event for each fight over an object of the Work that began.
func (s *Stage) tellFights(ctx context.Context, w *propagation.Work, began []string) {
	for _, what := range began {
		s.hub.Record(ctx, hub.AboutWork(w), hub.Warning, applying.ReasonFieldManagerConflict, what)
	}
}
