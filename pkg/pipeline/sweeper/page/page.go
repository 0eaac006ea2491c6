// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

const (
	// Size is how many bindings a page has.
	Size = 500
	// position holds where the page begins.
	position = "sweep page"
)

// Hub is the control plane's API.
type Hub interface {
	// Bindings are all.
	Bindings(ctx context.Context) ([]*propagation.Binding, error)
	// ListBindings are some: those behind cont, and where to go on.
	ListBindings(ctx context.Context, namespace string, limit int64, cont string) ([]*propagation.Binding, string, error)
}

// Page are the bindings that a sweep looks at.
type Page struct {
	Bindings []*propagation.Binding
	// Whole: these are all.
	Whole bool
	// First and Last: a round begins, or ends, with this page. Fresh: no sweep before
	// this one has looked at it.
	First, Last, Fresh bool

	at, next place
	all      func() ([]*propagation.Binding, error)
	listed   bool
}

// place is where a page begins.
type place struct {
	// Cont is what the API server calls it; empty: the start.
	Cont string `json:"cont,omitempty"`
	// Behind is the last binding of the page before.
	Behind string `json:"behind,omitempty"`
	// Again: a sweep has looked at it.
	Again bool `json:"again,omitempty"`
	// Through are the rooms that are through with it.
	Through []string `json:"through,omitempty"`
}

// All is a page of all bindings.
func All(bindings []*propagation.Binding) *Page {
	return &Page{
		Bindings: bindings, Whole: true, First: true, Last: true, Fresh: true,
		all: func() ([]*propagation.Binding, error) { return bindings, nil }, listed: true,
	}
}

// Open opens the page whose turn it is, of at most size bindings; 0: all.
func Open(ctx context.Context, t *tick.Tick, h Hub, size int) (*Page, error) {
	if size == 0 {
		bindings, err := h.Bindings(ctx)
		if err != nil {
			return nil, fmt.Errorf("list bindings: %w", err)
		}
		return All(bindings), nil
	}
	p := &Page{}
	t.Read(position, &p.at)
	some, next, err := h.ListBindings(ctx, "", int64(size), p.at.Cont)
	if err != nil {
		return nil, fmt.Errorf("list a page of bindings: %w", err)
	}
	if len(some) > 0 && rank(some[0].Key) <= p.at.Behind { // the list has begun anew
		p.at = place{}
	}
	p.Bindings, p.First, p.Last, p.Fresh = some, p.at.Behind == "", next == "", !p.at.Again
	if p.First && p.Last {
		return All(some), nil
	}
	if !p.Last {
		p.next = place{Cont: next, Behind: p.at.Behind}
		if len(some) > 0 {
			p.next.Behind = rank(some[len(some)-1].Key)
		}
	}
	p.all = sync.OnceValues(func() ([]*propagation.Binding, error) { return h.Bindings(ctx) })
	return p, nil
}

// rank is where a binding stands among all, as they are listed: by namespace and name,
// those of cluster scope last.
func rank(key propagation.BindingKey) string {
	if key.Scope() == propagation.Cluster {
		return "2 " + key.ID()
	}
	return "1 " + key.ID()
}

// Spans tells whether a binding of that key would be on this page.
func (p *Page) Spans(key propagation.BindingKey) bool {
	r := rank(key)
	return r > p.at.Behind && (p.Last || r <= p.next.Behind)
}

// Most is how many things one sweep says of what it finds on the page: of a page all, of
// all at most a batch.
func (p *Page) Most() int {
	if p.Whole {
		return tick.Batch
	}
	return max(len(p.Bindings), tick.Batch)
}

// All are all bindings, for which a room asks where a page does not do. They are listed
// once in a sweep.
func (p *Page) All() ([]*propagation.Binding, error) {
	all, err := p.all()
	p.listed = err == nil
	return all, err
}

// Listed is a page of all bindings where a room has asked for them, and else this one.
func (p *Page) Listed() *Page {
	if !p.listed {
		return p
	}
	all, err := p.all()
	if err != nil {
		return p
	}
	return All(all)
}

// Done says that a room is through with the page, by this sweep or one before it.
func (p *Page) Done(room string) {
	if !p.IsDone(room) {
		p.at.Through = append(p.at.Through, room)
	}
}

// IsDone tells whether a room is through with the page.
func (p *Page) IsDone(room string) bool { return slices.Contains(p.at.Through, room) }

// Turn says which page the next sweep looks at: this one, as long as one of the rooms is
// not through with it, or the one behind it.
func (p *Page) Turn(t *tick.Tick, rooms ...string) error {
	through := true
	for _, room := range rooms {
		through = through && p.IsDone(room)
	}
	switch {
	case p.Last && through, p.Whole:
		t.Put(position, "")
		return nil
	case through:
		return t.Write(position, p.next)
	}
	again := p.at
	again.Again = true
	return t.Write(position, again)
}

// On are the bindings of the page by their keys.
func (p *Page) On() map[propagation.BindingKey]*propagation.Binding {
	on := make(map[propagation.BindingKey]*propagation.Binding, len(p.Bindings))
	for _, b := range p.Bindings {
		on[b.Key] = b
	}
	return on
}
