// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"
)

var cluster1 = types.NamespacedName{Name: "member1"}

// One request is under way; all who ask meanwhile share the next, which begins after they
// asked.
func TestReadsAtTheSameTimeAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads sharing[int]
		var asked atomic.Int64
		answers := make(chan struct{})
		ask := func() (int, error) {
			n := asked.Add(1)
			<-answers
			return int(n), nil
		}
		got := make([]int, 9)
		var all sync.WaitGroup
		start := func(from, to int) {
			for i := from; i < to; i++ {
				all.Go(func() {
					var err error
					if got[i], err = reads.get(t.Context(), cluster1, ask); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
		}
		start(0, 5)
		answers <- struct{}{} // the first's; the second is begun
		synctest.Wait()
		start(5, 9)
		close(answers)
		all.Wait()
		for i, n := range got {
			if want := []int{1, 2, 2, 2, 2, 3, 3, 3, 3}[i]; n != want {
				t.Errorf("caller %d was given the answer of request %d, want %d", i, n, want)
			}
		}
		if len(reads.open) != 0 {
			t.Errorf("kept %v, which nobody asks for", reads.open)
		}
	})
}

// Who gives up takes nobody with him: neither one that waits, nor one that asks for others.
func TestWhoGivesUpReadingIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads sharing[string]
		begun := make(chan struct{}, 3)
		impatient, giveUp := context.WithCancel(t.Context())
		slow := func() (string, error) { begun <- struct{}{}; <-impatient.Done(); return "", impatient.Err() }
		quick := func() (string, error) { return "there", nil }
		errs := make([]error, 3)
		var all sync.WaitGroup
		ask := func(i int, ctx context.Context, ask func() (string, error)) {
			all.Go(func() { _, errs[i] = reads.get(ctx, cluster1, ask) })
			synctest.Wait()
		}
		ask(0, impatient, slow)
		<-begun
		ask(1, impatient, quick) // waits
		ask(2, t.Context(), quick)
		giveUp()
		all.Wait()
		if !errors.Is(errs[0], context.Canceled) || errs[2] != nil {
			t.Errorf("errors %v, want that the first gave up, and the last has an answer", errs)
		}
	})
}

// Other objects do not wait, and what an earlier caller was told is told to nobody later.
func TestReadsOfOthersAndLaterOnesAreTheirOwn(t *testing.T) {
	var reads sharing[int]
	n := 0
	ask := func() (int, error) {
		n++
		if n == 1 {
			if v, err := reads.get(t.Context(), types.NamespacedName{Name: "member2"}, func() (int, error) { return 7, nil }); v != 7 || err != nil {
				t.Errorf("another object: %d, %v", v, err)
			}
		}
		return n, nil
	}
	for want := 1; want <= 2; want++ {
		if got, err := reads.get(t.Context(), cluster1, ask); got != want || err != nil {
			t.Errorf("request %d: %d, %v", want, got, err)
		}
	}
}
