// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pending_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/pending"
	"sluice.dev/pkg/redis/schema"
	"sluice.dev/test/redistest"
)

var start = time.UnixMilli(1_795_000_000_000)

func object(name string) propagation.TemplateKey {
	return propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name}
}

// world is a map in a Redis that is built.
type world struct {
	*testing.T
	*pending.Map
}

func each(t *testing.T, f func(w world)) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		rdb.Set(t.Context(), schema.Epoch, "any", 0)
		f(world{t, pending.New(rdb)})
	})
}

func (w world) note(at time.Duration, name string, placements ...string) {
	w.Helper()
	if err := w.Note(w.Context(), placements, object(name), start.Add(at)); err != nil {
		w.Fatal(err)
	}
}

// take is what is taken, the names of the objects alone.
func (w world) take(placement string, want pending.State, names ...string) pending.Taken {
	w.Helper()
	got, err := w.Take(w.Context(), placement)
	if err != nil {
		w.Fatal(err)
	}
	if d := cmp.Diff(want, got.State); d != "" {
		w.Errorf("state (-want +got)\n%s", d)
	}
	var objects []propagation.TemplateKey
	for _, n := range names {
		objects = append(objects, object(n))
	}
	if d := cmp.Diff(objects, got.Changed); d != "" {
		w.Errorf("changed (-want +got)\n%s", d)
	}
	return got
}

func (w world) done(placement string, t pending.Taken) {
	w.Helper()
	if err := w.Done(w.Context(), placement, t, "by these", start); err != nil {
		w.Fatal(err)
	}
}

func TestChangesAreNotedUntilTheyAreSeen(t *testing.T) {
	each(t, func(w world) {
		w.note(0, "before", "shop") // it will be selected afresh
		first := w.take("shop", pending.State{})
		w.note(1*time.Second, "meanwhile", "shop", "shop-2")
		w.done("shop", first)
		w.note(2*time.Second, "later", "shop")
		w.note(3*time.Second, "later", "shop")
		known := pending.State{Known: true, Selected: "by these", Last: start, First: start.Add(time.Second)}
		states, err := w.States(w.Context())
		if d := cmp.Diff(map[string]pending.State{"shop": known}, states); d != "" || err != nil {
			w.Errorf("%v (-want +got)\n%s", err, d)
		}
		second := w.take("shop", known, "later", "meanwhile")
		w.done("shop", second)
		w.take("shop", pending.State{Known: true, Selected: "by these", Last: start})
	})
}

func TestOfTwoTheSecondSaysWhatIsSeen(t *testing.T) {
	each(t, func(w world) {
		w.done("shop", w.take("shop", pending.State{}))
		w.note(0, "a", "shop")
		known := pending.State{Known: true, Selected: "by these", Last: start, First: start}
		dead := w.take("shop", known, "a")
		w.note(time.Second, "b", "shop")
		lives := w.take("shop", known, "a", "b")
		if err := w.Done(w.Context(), "shop", dead, "by these", start); !outcome.IsConflict(err) {
			w.Errorf("the first one is done: %v", err)
		}
		w.done("shop", lives)
		w.take("shop", pending.State{Known: true, Selected: "by these", Last: start})
	})
}

func TestMoreChangesThanAreKeptAreAll(t *testing.T) {
	each(t, func(w world) {
		w.done("shop", w.take("shop", pending.State{}))
		held := w.take("shop", pending.State{Known: true, Selected: "by these", Last: start})
		for i := range 501 {
			w.note(0, fmt.Sprint(i), "shop")
		}
		w.note(time.Second, "one more", "shop")
		w.done("shop", held)
		all := w.take("shop", pending.State{Selected: "by these", Last: start, First: start})
		w.done("shop", all)
		w.take("shop", pending.State{Known: true, Selected: "by these", Last: start})
	})
}

func TestForget(t *testing.T) {
	each(t, func(w world) {
		w.done("shop", w.take("shop", pending.State{}))
		w.note(0, "a", "shop")
		if err := w.Forget(w.Context(), "shop"); err != nil {
			w.Fatal(err)
		}
		w.take("shop", pending.State{})
	})
}

func TestNothingIsKnownOfARedisThatLostItsData(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := pending.New(s.Client(t))
		_, states := m.States(t.Context())
		_, take := m.Take(t.Context(), "shop")
		for what, err := range map[string]error{
			"note": m.Note(t.Context(), []string{"shop"}, object("a"), start), "states": states, "take": take,
			"done": m.Done(t.Context(), "shop", pending.Taken{}, "", start), "forget": m.Forget(t.Context(), "shop"),
		} {
			if !errors.Is(err, outcome.ErrNotBuilt) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
