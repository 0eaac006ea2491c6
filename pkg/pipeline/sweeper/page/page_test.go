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

// shelf is a hub of bindings, which counts what is asked of it.
type shelf struct {
	all          []*propagation.Binding
	pages, lists int
	// forgot: the next list begins anew.
	forgot bool
}

func (s *shelf) Bindings(context.Context) ([]*propagation.Binding, error) {
	s.lists++
	return s.all, nil
}

func (s *shelf) ListBindings(_ context.Context, _ string, limit int64, cont string) ([]*propagation.Binding, string, error) {
	s.pages++
	if s.forgot {
		s.forgot, cont = false, ""
	}
	some, next := fixture.Page(s.all, limit, cont)
	return some, next, nil
}

func (s *shelf) put(namespace, name string) {
	s.all = append(s.all, &propagation.Binding{Key: propagation.BindingKey{Namespace: namespace, Name: name}})
}

// stored are positions.
type stored map[string]string

func (s stored) Load(context.Context) (map[string]string, error) { return s, nil }
func (s stored) Save(_ context.Context, name, position string) error {
	s[name] = position
	return nil
}

// fatal is testing.T and rapid.T.
type fatal interface{ Fatal(args ...any) }

// sweep opens a page, as a replica does that has just started.
func (s *shelf) sweep(t fatal, at stored, size int, look func(*page.Page)) {
	one := tick.New(event.New(), maps.Clone(at), time.Time{})
	p, err := page.Open(context.Background(), one, s, size)
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
		s, at, size := &shelf{}, stored{}, rapid.IntRange(1, 7).Draw(t, "size")
		n := rapid.IntRange(0, 40).Draw(t, "bindings")
		for i := range n {
			s.put(rapid.SampledFrom(kinds).Draw(t, "namespace"), fmt.Sprintf("t%02d", i))
		}
		staying := append([]*propagation.Binding(nil), s.all...)
		for range 2 {
			seen, spanned, ended := map[propagation.BindingKey]int{}, map[propagation.BindingKey]int{}, false
			for sweeps := 0; !ended; sweeps++ {
				if sweeps > 2*(n+20)/size+2 {
					t.Fatal("the round does not end")
				}
				s.sweep(t, at, size, func(p *page.Page) {
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
				if len(s.all) < n+20 && rapid.Bool().Draw(t, "comes") {
					s.put(rapid.SampledFrom(kinds).Draw(t, "namespace"), fmt.Sprintf("new%03d", len(s.all)))
				}
			}
			for _, b := range staying {
				if seen[b.Key] != 1 || spanned[b.Key] != 1 {
					t.Fatalf("%s is on %d pages, and would be on %d", b.Key, seen[b.Key], spanned[b.Key])
				}
			}
		}
		if s.lists > 0 {
			t.Fatalf("all are listed %d times", s.lists)
		}
	})
}

func TestAPageStaysUntilAllRoomsAreThrough(t *testing.T) {
	s, at := &shelf{}, stored{}
	for i := range 4 {
		s.put("shop", fmt.Sprintf("t%d", i))
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
		s.sweep(t, at, 2, func(p *page.Page) {
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
	s, at := &shelf{}, stored{}
	for i := range 6 {
		s.put("shop", fmt.Sprintf("t%d", i))
	}
	for i, want := range []struct {
		first string
		is    bool
	}{{"t0", true}, {"t2", false}, {"t0", true}, {"t2", false}} {
		s.forgot = i == 2
		s.sweep(t, at, 2, func(p *page.Page) {
			if p.Bindings[0].Key.Name != want.first || p.First != want.is || !p.Spans(p.Bindings[0].Key) {
				t.Errorf("sweep %d looks at the page of %s, the first %t", i, p.Bindings[0].Key.Name, p.First)
			}
			p.Done("a")
			p.Done("b")
		})
	}
}

func TestWhatFitsOnOnePageIsAWhole(t *testing.T) {
	s := &shelf{}
	s.put("shop", "t")
	s.sweep(t, stored{}, 2, func(p *page.Page) {
		if all, err := p.All(); !p.Whole || !p.First || !p.Last || !p.Fresh || len(all) != 1 || err != nil {
			t.Errorf("%+v, %v", p, err)
		}
	})
	if s.lists != 0 || s.pages != 1 {
		t.Errorf("%d lists and %d pages, want one page", s.lists, s.pages)
	}
}

func TestAllAreListedOnceForWhoAsks(t *testing.T) {
	s := &shelf{}
	for i := range 4 {
		s.put("shop", fmt.Sprintf("t%d", i))
	}
	s.sweep(t, stored{}, 2, func(p *page.Page) {
		if p.Listed().Whole || s.lists != 0 {
			t.Error("nobody has asked")
		}
		for range 2 {
			if all, err := p.All(); len(all) != 4 || err != nil {
				t.Errorf("all are %d, %v", len(all), err)
			}
		}
		if all := p.Listed(); !all.Whole || len(all.Bindings) != 4 || s.lists != 1 {
			t.Errorf("listed %d times: %d", s.lists, len(all.Bindings))
		}
	})
}
