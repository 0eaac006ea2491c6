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
	// position is the name under which the start of the page is stored.
	position = "sweep page"
)

// Hub is the control plane's API.
type Hub interface {
	// Bindings returns all bindings.
	Bindings(ctx context.Context) ([]*propagation.Binding, error)
	// ListBindings returns the bindings after cont, at most limit, and where to
	// continue.
	ListBindings(ctx context.Context, namespace string, limit int64, cont string) ([]*propagation.Binding, string, error)
}

// Page has the bindings that a sweep looks at.
type Page struct {
	Bindings []*propagation.Binding
	// Whole: these are all bindings.
	Whole bool
	// First and Last: the page is the first or last of a round. Fresh: no earlier sweep
	// has looked at it.
	First, Last, Fresh bool

	at, next place
	all      func() ([]*propagation.Binding, error)
	listed   bool
}

// place is the start of a page.
type place struct {
	// Cont is the API server's continue token; empty: the start of the list.
	Cont string `json:"cont,omitempty"`
	// Behind is the last binding of the previous page.
	Behind string `json:"behind,omitempty"`
	// Again: an earlier sweep has looked at the page.
	Again bool `json:"again,omitempty"`
	// Through are the rooms that are done with the page.
	Through []string `json:"through,omitempty"`
}

// All returns a page with all bindings.
func All(bindings []*propagation.Binding) *Page {
	return &Page{
		Bindings: bindings, Whole: true, First: true, Last: true, Fresh: true,
		all: func() ([]*propagation.Binding, error) { return bindings, nil }, listed: true,
	}
}

// Open reads the page whose turn it is, of at most size bindings; 0: all.
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
	if len(some) > 0 && rank(some[0].Key) <= p.at.Behind { // the list started again from its beginning
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

// rank is the position of a binding in the order of the list: by namespace and name,
// with those of cluster scope last.
func rank(key propagation.BindingKey) string {
	if key.Scope() == propagation.Cluster {
		return "2 " + key.ID()
	}
	return "1 " + key.ID()
}

// Spans reports whether a binding with that key would be on this page.
func (p *Page) Spans(key propagation.BindingKey) bool {
	r := rank(key)
	return r > p.at.Behind && (p.Last || r <= p.next.Behind)
}

// Most is how many findings one sweep may announce: one for each binding of a page, but
// at least a batch; a batch if the page has all bindings.
func (p *Page) Most() int {
	if p.Whole {
		return tick.Batch
	}
	return max(len(p.Bindings), tick.Batch)
}

// All returns all bindings, for a room for which the page is not enough. They are
// listed once in a sweep.
func (p *Page) All() ([]*propagation.Binding, error) {
	all, err := p.all()
	p.listed = err == nil
	return all, err
}

// Listed returns a page of all bindings if a room has asked for them, and otherwise
// this one.
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

// Done records that a room is done with the page.
func (p *Page) Done(room string) {
	if !p.IsDone(room) {
		p.at.Through = append(p.at.Through, room)
	}
}

// IsDone reports whether a room is done with the page, by this sweep or an earlier one.
func (p *Page) IsDone(room string) bool { return slices.Contains(p.at.Through, room) }

// Turn stores which page the next sweep looks at: this one, as long as one of the rooms
// is not done with it, or else the next one.
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

// On returns the bindings of the page by their keys.
func (p *Page) On() map[propagation.BindingKey]*propagation.Binding {
	on := make(map[propagation.BindingKey]*propagation.Binding, len(p.Bindings))
	for _, b := range p.Bindings {
		on[b.Key] = b
	}
	return on
}
