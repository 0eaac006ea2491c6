// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/source/discovery"
)

func TestWhatTheMemberAnswers(t *testing.T) {
	reset := func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch { // client-go tries again to read
			panic(http.ErrAbortHandler)
		}
		return false
	}
	status := func(code int, reason metav1.StatusReason) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPatch {
				fail(w, code, reason, target{resource: "configmaps"}, "no, says the member")
			}
			return r.Method == http.MethodPatch
		}
	}
	refused := func(err error) bool {
		var e *Refused
		return errors.As(err, &e) && e.Error() == "member1 refused: no, says the member"
	}
	unreachable := func(err error) bool { return errors.As(err, new(*Unreachable)) }
	for name, tc := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		want   func(error) bool
		doubts bool
	}{
		"invalid":           {status(422, metav1.StatusReasonInvalid), refused, false},
		"forbidden":         {status(403, metav1.StatusReasonForbidden), refused, false},
		"denied by webhook": {status(400, metav1.StatusReasonBadRequest), refused, false},
		"too large":         {status(413, metav1.StatusReasonRequestEntityTooLarge), refused, false},
		"unauthorized":      {status(401, metav1.StatusReasonUnauthorized), refused, true},
		"a field of another type": {func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPatch {
				fail(w, 500, metav1.StatusReasonInternalError, target{resource: "configmaps"}, "failed to create typed patch object (a; v1, Kind=ConfigMap): .data.a: expected string")
			}
			return r.Method == http.MethodPatch
		}, func(err error) bool {
			var e *Refused
			return errors.As(err, &e) && strings.HasSuffix(e.Error(), ".data.a: expected string")
		}, false},
		"a conflict": {status(409, metav1.StatusReasonConflict), outcome.IsConflict, false},
		"overloaded": {status(503, metav1.StatusReasonServiceUnavailable), unreachable, true},
		"an error of its own": {func(w http.ResponseWriter, r *http.Request) bool {
			http.Error(w, "oops", http.StatusInternalServerError)
			return true
		}, unreachable, true},
		"the line is cut": {reset, unreachable, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := onFake(t)
			w.api.answer = tc.answer
			_, err := bring(t.Context(), w.Client, work("x"), w.manifest(configMap), applying.TakeOverNever)
			if !tc.want(err) {
				t.Errorf("error %v", err)
			}
			if w.doubted.Load() != tc.doubts {
				t.Errorf("doubts: %v", w.doubted.Load())
			}
		})
	}
}

func TestAKindThatIsNotServed(t *testing.T) {
	w := onFake(t)
	var asked atomic.Int32
	w.api.answer = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/apis/example.com/v1" {
			asked.Add(1)
		}
		return false
	}
	now := time.Now()
	w.kinds = discovery.New(w.ask, 0, func() time.Time { return now })
	m := w.manifest(`{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, namespace: %s}}`)
	var notServed *NotServed
	for range 3 {
		if _, err := bring(t.Context(), w.Client, work("x"), m, applying.TakeOverNever); !errors.As(err, &notServed) || err.Error() != "member1 does not serve example.com/v1 Thing" {
			t.Fatalf("error %v", err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times in a moment", n)
	}
	things := []metav1.APIResource{{Name: "things", Kind: "Thing", Namespaced: true}}
	w.api.mu.Lock()
	w.api.kinds["example.com/v1"] = things
	w.api.mu.Unlock()
	now = now.Add(discovery.Again)
	if _, err := bring(t.Context(), w.Client, work("x"), m, applying.TakeOverNever); err != nil {
		t.Fatalf("after the kind was defined: %v", err)
	}
	w.api.mu.Lock()
	delete(w.api.kinds, "example.com/v1")
	w.api.mu.Unlock()
	if _, err := bring(t.Context(), w.Client, work("x"), m, applying.TakeOverNever); !errors.As(err, &notServed) {
		t.Fatalf("after the kind was removed: %v", err)
	}
	if deleted, err := drop(t.Context(), w.Client, refOf(m), "x"); deleted || err != nil {
		t.Errorf("deleted %v, error %v", deleted, err)
	}
}

func TestAMemberThatIsDown(t *testing.T) {
	w := onFake(t)
	w.api.CloseClientConnections()
	w.api.Close()
	var unreachable *Unreachable
	_, err := bring(t.Context(), w.Client, work("x"), w.manifest(configMap), applying.TakeOverNever)
	if !errors.As(err, &unreachable) || err.Error() != "member1 cannot be reached: connection refused" {
		t.Errorf("error %v", err)
	}
	if err := w.Ready(t.Context()); !errors.As(err, &unreachable) {
		t.Errorf("ready: %v", err)
	}
	if _, err := w.Version(t.Context()); !errors.As(err, &unreachable) {
		t.Errorf("version: %v", err)
	}
	if err := w.Watch(t.Context(), refOf(w.manifest(deployment)).GroupVersionKind(), nil); !errors.As(err, &unreachable) {
		t.Errorf("watch: %v", err)
	}
}

func TestAMemberThatDoesNotAnswer(t *testing.T) {
	w := onFake(t)
	hang := make(chan struct{})
	defer close(hang)
	w.api.answer = func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler) // an answer might still get through
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := w.Ready(ctx); err == nil || err.Error() != "member1 cannot be reached: no answer in time" {
		t.Errorf("error %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := w.Ready(ctx); errors.As(err, new(*Unreachable)) || !errors.Is(err, context.Canceled) {
		t.Errorf("the caller gave up: %v", err)
	}
}

func TestUnreachableHasStableWords(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"a timeout on the line": {&net.OpError{Op: "dial", Err: context.DeadlineExceeded}, "no answer in time"},
		"ports are left out":    {&net.OpError{Op: "read", Source: &net.TCPAddr{Port: 4711}, Err: net.UnknownNetworkError("x")}, "unknown network x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&Unreachable{"m", tc.err}).Error(); got != "m cannot be reached: "+tc.want {
				t.Error(got)
			}
		})
	}
}

func TestReadyAndVersion(t *testing.T) {
	w := onFake(t)
	if err := w.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if v, err := w.Version(t.Context()); v != "v1.36.0" || err != nil {
		t.Errorf("version %s, %v", v, err)
	}
	w.api.answer = func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/readyz" {
			http.NotFound(rw, r)
		}
		return r.URL.Path == "/readyz"
	}
	if err := w.Ready(t.Context()); err != nil {
		t.Errorf("a member that has no readyz: %v", err)
	}
	w.api.answer = func(rw http.ResponseWriter, r *http.Request) bool {
		http.Error(rw, "[-]etcd failed", http.StatusInternalServerError)
		return true
	}
	if err := w.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "etcd failed") {
		t.Errorf("a member that is not ready: %v", err)
	}
}
