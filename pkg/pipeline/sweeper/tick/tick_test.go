// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package tick_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// stored are positions, and how often one was saved.
type stored struct {
	at    map[string]string
	saves int
}

func (s *stored) Load(context.Context) (map[string]string, error) { return s.at, nil }

func (s *stored) Save(_ context.Context, name, position string) error {
	s.at[name] = position
	s.saves++
	return nil
}

// sweep is one, by a replica that knows what is stored alone.
func (s *stored) sweep(t *testing.T, now time.Time, do func(*tick.Tick)) {
	t.Helper()
	at := make(map[string]string, len(s.at))
	for name, position := range s.at {
		at[name] = position
	}
	one := tick.New(event.New(), at, now)
	do(one)
	if err := one.Save(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// suspects are so many in each lane, in a version.
func suspects(version string, lanes map[string]int) (all []tick.Suspect[string]) {
	for lane, n := range lanes {
		for i := range n {
			id := fmt.Sprintf("%s%03d", lane, i)
			all = append(all, tick.Suspect[string]{Entry: sweeping.Entry[string]{Lane: lane, ID: id, Value: id}, Version: version})
		}
	}
	return all
}

func TestWhatTwoSweepsSuspectIsFoundWhoeverSweeps(t *testing.T) {
	few := map[string]int{"a": 2, "b": 1}
	for sentence, tc := range map[string]struct {
		first, second []tick.Suspect[string]
		want          []string
	}{
		"the same twice":                     {suspects("1", few), suspects("1", few), []string{"a000", "a001", "b000"}},
		"once is on its way":                 {nil, suspects("1", few), nil},
		"somebody wrote it in between":       {suspects("1", few), suspects("2", few), nil},
		"what is well again":                 {suspects("1", few), nil, nil},
		"one of another lane is another one": {suspects("1", map[string]int{"a": 2}), suspects("1", map[string]int{"a": 1, "b": 1}), []string{"a000"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := &stored{at: map[string]string{}}
			var got []string
			for _, all := range [][]tick.Suspect[string]{tc.first, tc.second} {
				s.sweep(t, noon, func(one *tick.Tick) { got = tick.Twice(one, "x", all, 10) })
			}
			slices.Sort(got)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// However many are suspected, what is stored is bounded, and each has its turn.
func TestOfManySuspectsEachHasItsTurn(t *testing.T) {
	const most = 20
	s := &stored{at: map[string]string{}}
	all := suspects("1", map[string]int{"crowd": 300, "one": 1})
	seen, sweeps := map[string]int{}, 0
	for ; len(seen) < 301 && sweeps < 40; sweeps++ {
		s.sweep(t, noon, func(one *tick.Tick) {
			got := tick.Twice(one, "x", all, most)
			if len(got) > most {
				t.Errorf("%d in one sweep, want %d at most", len(got), most)
			}
			for _, name := range got {
				seen[name]++
			}
		})
		if n := len(s.at["x suspects"]); n > 12*most {
			t.Fatalf("%d bytes are stored", n)
		}
		if sweeps == 1 && seen["one000"] == 0 {
			t.Error("the one waits for the crowd")
		}
	}
	if len(seen) != 301 {
		t.Errorf("after %d sweeps %d of 301 had a turn", sweeps, len(seen))
	}
}

func TestOnlyWhatChangedIsStored(t *testing.T) {
	s := &stored{at: map[string]string{}}
	round := sweeping.Round{"a": "1"}
	s.sweep(t, noon, func(one *tick.Tick) { one.SetRound("r", round); one.Revisit("m1") })
	if s.saves != 3 { // and when it began
		t.Errorf("%d saves, want 3", s.saves)
	}
	s.sweep(t, noon.Add(time.Minute), func(one *tick.Tick) {
		if !one.Last.Equal(noon) {
			t.Errorf("the last sweep was at %v, want %v", one.Last, noon)
		}
		if d := cmp.Diff(round, one.Round("r")); d != "" {
			t.Error(d)
		}
		one.SetRound("r", one.Round("r"))
	})
	if s.saves != 4 {
		t.Errorf("%d saves, want 4", s.saves)
	}
}

func TestAMemberIsRevisitedUntilAllOfItWas(t *testing.T) {
	s := &stored{at: map[string]string{}}
	works := []sweeping.Entry[string]{{Lane: "m1", ID: "a", Value: "m1/a"}, {Lane: "m1", ID: "b", Value: "m1/b"}, {Lane: "m2", ID: "a", Value: "m2/a"}}
	var got [][]string
	for i := range 3 {
		s.sweep(t, noon, func(one *tick.Tick) {
			if i == 0 {
				one.Revisit("m1")
			}
			got = append(got, tick.Revisited(one, works, 1, func(string) bool { return false }))
		})
	}
	if d := cmp.Diff([][]string{{"m1/a"}, {"m1/b"}, nil}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// away is a Redis that does not answer.
type away struct{ stored }

var errAway = errors.New("redis is away")

func (*away) Save(context.Context, string, string) error { return errAway }

func TestThatNothingCouldBeStoredIsTold(t *testing.T) {
	if err := tick.New(event.New(), nil, noon).Save(t.Context(), &away{}); !errors.Is(err, errAway) {
		t.Errorf("%v, want %v", err, errAway)
	}
}
