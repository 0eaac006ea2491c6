// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"bytes"
	stdcmp "cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice.dev/pkg/outcome"
)

// patience of the callers here: a request to a member that does not answer ends
// with its caller's.
const patience = 200 * time.Millisecond

var configMapRef = Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "x"}

// sent counts what a hostile member got rid of.
type sent struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (s sent) Write(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p)
	s.bytes.Add(int64(n))
	return n, err
}

// forObjects lets a fake answer so to requests for ConfigMaps.
func forObjects(answer http.HandlerFunc, bytes *atomic.Int64) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/configmaps") {
			return false
		}
		answer(sent{w, bytes}, r)
		return true
	}
}

func endless(head, more string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(w, head)
		for chunk := strings.Repeat(more, 1<<12); err == nil && r.Context().Err() == nil; {
			_, err = io.WriteString(w, chunk)
		}
	}
}

// silent never answers. A handler that returned when its caller hangs up would answer
// with an empty 200, which a caller that is just hanging up may still take.
func silent(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// packed are 256 MiB in little.
var packed = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = io.WriteString(z, `{"apiVersion":"v1","kind":"ConfigMap","data":{"x":"`)
	chunk := bytes.Repeat([]byte("a"), 1<<20)
	for range 256 {
		_, _ = z.Write(chunk)
	}
	_ = z.Close()
	return out.Bytes()
})

func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = w.Write(packed())
}

func tenMegabytes(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"shop"},"status":{"x":"`+strings.Repeat("a", 10<<20)+`"}}`)
}

// Z31: whatever a member answers costs a bounded time and bounded memory.
func TestZ31AHostileMember(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   string
		within time.Duration // the caller's patience; none: a minute
	}{
		"does not answer":              {silent, "no answer in time", 10 * patience},
		"answers without end":          {endless(`{"data":{"x":"`, "aaaaaaaa"), errTooLarge.Error(), 0},
		"answers without end, in JSON": {endless(`{"a":[`, "[],\n"), errTooLarge.Error(), 0},
		"sends much in little":         {bomb, errTooLarge.Error(), 0},
		"has a status of 10 MB":        {tenMegabytes, errTooLarge.Error(), 0},
		"says to come back for ever": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "later", http.StatusTooManyRequests)
		}, "later", 0},
		"sends headers without end": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 100 {
				w.Header().Set("X-"+strings.Repeat("x", i), strings.Repeat("y", 10<<10))
			}
		}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := onFake(t)
			var bytes atomic.Int64
			w.api.answer = forObjects(tc.answer, &bytes)
			packed() // by itself it costs more than what it does
			ctx, cancel := context.WithTimeout(t.Context(), stdcmp.Or(tc.within, time.Minute))
			defer cancel()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			_, err := w.Observe(ctx, configMapRef)
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			if !errors.As(err, new(*Unreachable)) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want that it cannot be reached: %s", err, tc.want)
			}
			if took > 20*time.Second {
				t.Errorf("it took %s", took)
			}
			if got := bytes.Load(); got > 64<<20 {
				t.Errorf("it got rid of %d MiB", got>>20)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 100 {
				t.Errorf("it cost %d MiB of memory in all", used)
			}
		})
	}
}

// A watch is endless by nature; one event of it is not.
func TestZ31AWatchWithAnEventWithoutEnd(t *testing.T) {
	w := onFake(t)
	var bytes atomic.Int64
	w.api.answer = forObjects(endless(`{"type":"ADDED","object":{"a":"{\"`, "aaaaaaa\n"), &bytes)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_ = w.Watch(ctx, configMaps, func(Change) {})
	if got := bytes.Load(); got > 4*maxList {
		t.Errorf("it got rid of %d MiB", got>>20)
	}
	if s := w.store(configMaps); s != nil && len(s.objects) > 0 {
		t.Error("something of it was kept")
	}
}

func TestZ31ARedirectTakesNoCredentialsAway(t *testing.T) {
	var asked atomic.Int32
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) { asked.Add(1) }))
	defer elsewhere.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		w := onFake(t)
		w.api.answer = forObjects(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, code)
		}, new(atomic.Int64))
		_, err := w.Observe(t.Context(), configMapRef)
		if !errors.As(err, new(*Unreachable)) || !strings.Contains(err.Error(), "redirect") {
			t.Errorf("%d: error %v", code, err)
		}
		r, err := w.served(t.Context(), configMaps)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.ours(r).Since(t.Context(), "1", 0, nil); err == nil || !strings.Contains(err.Error(), "redirect") {
			t.Errorf("%d: watch: error %v", code, err)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

// A member that does not answer several times in a row is left alone: who has
// something for it learns so at once, in the same words, and it is asked now and
// then whether it answers again.
func TestZ31ADeadMemberIsLeftAlone(t *testing.T) {
	w := onFake(t)
	var asked atomic.Int32
	dead := atomic.Bool{}
	dead.Store(true)
	w.api.answer = func(rw http.ResponseWriter, r *http.Request) bool {
		if !dead.Load() || r.URL.Path != "/readyz" {
			return false
		}
		asked.Add(1)
		silent(rw, r)
		return true
	}
	ready := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return w.Ready(ctx)
	}
	var first error
	for range trips {
		first = ready()
		if first == nil {
			t.Fatal("a member that never answers is ready")
		}
	}
	w.doubted.Store(false)
	began := time.Now()
	for range 1000 {
		if err := ready(); !errors.As(err, new(*Unreachable)) || err.Error() != first.Error() {
			t.Fatalf("error %v, want %v", err, first)
		}
	}
	took := time.Since(began)
	if n := asked.Load(); n > trips+1+int32(took/firstRest) {
		t.Errorf("it was asked %d times in %s", n, took)
	}
	if took < firstRest/2 && w.doubted.Load() { // none was let through meanwhile
		t.Error("its credentials are looked up for each request that was not made")
	}
	dead.Store(false)
	eventually(t, "it is asked again, and answers", func() bool { return ready() == nil })
	if err := w.Ready(t.Context()); err != nil { // however busy this machine is
		t.Errorf("after it answered: %v", err)
	}
}

// A slow member holds few of those who work for all.
func TestZ31ASlowMemberDelaysNobodyElse(t *testing.T) {
	slow, good := onFake(t), onFake(t)
	end := make(chan struct{})
	stop := sync.OnceFunc(func() { close(end) })
	defer stop()
	var asked atomic.Int32
	slow.api.answer = forObjects(func(http.ResponseWriter, *http.Request) { asked.Add(1); <-end }, new(atomic.Int64))
	good.apply(work("x"), good.manifest(configMap))
	ref := Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: good.namespace, Name: "settings"}

	workers := make(chan func()) // as many as a function handles events at once
	var busy sync.WaitGroup
	for range 64 {
		busy.Go(func() {
			for f := range workers {
				f()
			}
		})
	}
	var refused atomic.Int32
	flood := make(chan struct{})
	go func() {
		defer close(flood)
		for range 500 {
			workers <- func() {
				if _, err := slow.Observe(t.Context(), configMapRef); errors.Is(err, errBusy) {
					if _, later := outcome.Delay(err); later {
						refused.Add(1)
					}
				}
			}
		}
	}()
	eventually(t, "it is known to be slow", func() bool { return refused.Load() >= 500-atOnce })
	<-flood
	latencies := make([]time.Duration, 100)
	for i := range latencies {
		done := make(chan struct{})
		began := time.Now()
		workers <- func() {
			defer close(done)
			if _, err := good.Observe(t.Context(), ref); err != nil {
				t.Error(err)
			}
		}
		<-done
		latencies[i] = time.Since(began)
	}
	slices.Sort(latencies)
	if median := latencies[len(latencies)/2]; median > 100*time.Millisecond {
		t.Errorf("beside it another's request takes %s", median)
	}
	if n := asked.Load(); n > atOnce {
		t.Errorf("it was at %d requests at once", n)
	}
	stop()
	close(workers)
	busy.Wait()
}
