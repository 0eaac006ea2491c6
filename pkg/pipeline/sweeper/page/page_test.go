// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"pgregory.net/rapid"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/sweeper/page"
	"sluice.dev/pkg/pipeline/sweeper/tick"
	"sluice.dev/test/pipelinetest/fixture"
)

// lister is a hub that has bindings.
type lister struct {
	fixture.BindingLister
	// expired: the token of the next list is too old, and the list begins anew.
	expired bool
}

func (l *lister) ListBindings(ctx context.Context, namespace string, limit int64, cont string) ([]*propagation.Binding, string, error) {
	if l.expired {
		l.expired, cont = false, ""
	}
	return l.BindingLister.ListBindings(ctx, namespace, limit, cont)
}

func (l *lister) put(namespace, name string) {
	l.All = append(l.All, &propagation.Binding{Key: propagation.BindingKey{Namespace: namespace, Name: name}})
}

// fatal is testing.T and rapid.T.
type fatal interface{ Fatal(args ...any) }

// sweep opens a page, as a replica does that has just started.
func (l *lister) sweep(t fatal, at fixture.Positions, size int, look func(*page.Page)) {
	one := tick.New(event.New(), maps.Clone(at), time.Time{})
	p, err := page.Open(context.Background(), one, l, size)
	if err != nil {
		t.Fatal(err)
	}
	look(p)
	if err := p.Turn(one, "a", "b"); err != nil {
		t.Fatal(err)
	}
	if err := one.Save(context.Background(), at); err != nil {
		t.Fatal(err)
	}
}

var kinds = []string{"", "a", "a-b", "b"}

// Each binding that is there all the time is on a page of each round, once, whatever
// comes and goes meanwhile; and what would be on a page, Spans tells.
func TestEachBindingIsOnOnePageOfARound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, at, size := &lister{}, fixture.Positions{}, rapid.IntRange(1, 7).Draw(t, "size")
		n := rapid.IntRange(0, 40).Draw(t, "bindings")
		for i := range n {
			l.put(rapid.SampledFrom(kinds).Draw(t, "namespace"), fmt.Sprintf("t%02d", i))
		}
		staying := append([]*propagation.Binding(nil), l.All...)
		for range 2 {
			seen, spanned, ended := map[propagation.BindingKey]int{}, map[propagation.BindingKey]int{}, false
			for sweeps := 0; !ended; sweeps++ {
				if sweeps > 2*(n+20)/size+2 {
					t.Fatal("the round does not end")
				}
				l.sweep(t, at, size, func(p *page.Page) {
					p.Done("a")
					p.Done("b")
					for _, b := range p.Bindings {
						seen[b.Key]++
					}
					for _, b := range staying {
						if p.Spans(b.Key) {
							spanned[b.Key]++
						}
					}
					ended = p.Last
				})
				if len(l.All) < n+20 && rapid.Bool().Draw(t, "comes") {
					l.put(rapid.SampledFrom(kinds).Draw(t, "namespace"), fmt.Sprintf("new%03d", len(l.All)))
				}
			}
			for _, b := range staying {
				if seen[b.Key] != 1 || spanned[b.Key] != 1 {
					t.Fatalf("%s is on %d pages, and would be on %d", b.Key, seen[b.Key], spanned[b.Key])
				}
			}
		}
		if l.Lists > 0 {
			t.Fatalf("all are listed %d times", l.Lists)
		}
	})
}

func TestAPageStaysUntilAllRoomsAreThrough(t *testing.T) {
	l, at := &lister{}, fixture.Positions{}
	for i := range 4 {
		l.put("shop", fmt.Sprintf("t%d", i))
	}
	for i, tc := range []struct {
		done  []string
		first string
		fresh bool
	}{
		{[]string{"a"}, "t0", true},
		{nil, "t0", false},
		{[]string{"b"}, "t0", false}, // a was through with it before
		{[]string{"a", "b"}, "t2", true},
		{[]string{"a", "b"}, "t0", true},
	} {
		l.sweep(t, at, 2, func(p *page.Page) {
			if got := p.Bindings[0].Key.Name; got != tc.first || p.Fresh != tc.fresh {
				t.Errorf("sweep %d looks at the page of %s, fresh %t; want %s, %t", i, got, p.Fresh, tc.first, tc.fresh)
			}
			for _, room := range tc.done {
				p.Done(room)
			}
		})
	}
}

func TestWhereTheHubHasForgottenTheListTheRoundBeginsAnew(t *testing.T) {
	l, at := &lister{}, fixture.Positions{}
	for i := range 6 {
		l.put("shop", fmt.Sprintf("t%d", i))
	}
	for i, want := range []struct {
		first string
		is    bool
	}{{"t0", true}, {"t2", false}, {"t0", true}, {"t2", false}} {
		l.expired = i == 2
		l.sweep(t, at, 2, func(p *page.Page) {
			if p.Bindings[0].Key.Name != want.first || p.First != want.is || !p.Spans(p.Bindings[0].Key) {
				t.Errorf("sweep %d looks at the page of %s, the first %t", i, p.Bindings[0].Key.Name, p.First)
			}
			p.Done("a")
			p.Done("b")
		})
	}
}

func TestWhatFitsOnOnePageIsAWhole(t *testing.T) {
	l := &lister{}
	l.put("shop", "t")
	l.sweep(t, fixture.Positions{}, 2, func(p *page.Page) {
		if all, err := p.All(); !p.Whole || !p.First || !p.Last || !p.Fresh || len(all) != 1 || err != nil {
			t.Errorf("%+v, %v", p, err)
		}
	})
	if l.Lists != 0 || l.Pages != 1 {
		t.Errorf("%d lists and %d pages, want one page", l.Lists, l.Pages)
	}
}

func TestAllAreListedOnceForWhoAsks(t *testing.T) {
	l := &lister{}
	for i := range 4 {
		l.put("shop", fmt.Sprintf("t%d", i))
	}
	l.sweep(t, fixture.Positions{}, 2, func(p *page.Page) {
		if p.Listed().Whole || l.Lists != 0 {
			t.Error("nobody has asked")
		}
		for range 2 {
			if all, err := p.All(); len(all) != 4 || err != nil {
				t.Errorf("all are %d, %v", len(all), err)
			}
		}
		if all := p.Listed(); !all.Whole || len(all.Bindings) != 4 || l.Lists != 1 {
			t.Errorf("listed %d times: %d", l.Lists, len(all.Bindings))
		}
	})
}
