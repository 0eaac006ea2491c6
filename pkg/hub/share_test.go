// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
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

// answers is how an API server answers requests.
type answers func(*http.Request) string

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(a(r))), Request: r}, nil
}

// Z31: each event about an object of a member asks which placements' Works have it. Those
// who ask at the same time share a list of the member's Works, and each may change its own.
func TestListsOfOneNamespaceAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int32
		answer := make(chan struct{})
		client, err := rest.UnversionedRESTClientFor(&rest.Config{
			Host: "hub", QPS: -1, ContentConfig: rest.ContentConfig{NegotiatedSerializer: serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()},
			Transport: answers(func(*http.Request) string {
				lists.Add(1)
				<-answer
				return `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		k := &kind[string]{client: api{Interface: client}, decode: func(raw []byte) (record[string], error) {
			var o metav1.PartialObjectMetadata
			err := json.Unmarshal(raw, &o)
			return recordOf(&o.ObjectMeta, o.Name), err
		}}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				names, err := k.list(t.Context(), "fleet-member-m1")
				if err != nil || !slices.Equal(names, []string{"a", "b"}) {
					t.Errorf("listed %v, %v", names, err)
				}
				clear(names)
			})
		}
		synctest.Wait() // until all have asked
		close(answer)
		all.Wait()
		if n := lists.Load(); n != 2 {
			t.Errorf("%d lists, want one for the first, and one for all who asked meanwhile", n)
		}
	})
}
