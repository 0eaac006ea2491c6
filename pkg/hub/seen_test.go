// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
)

// seenWorks is an API server that has no Works in its version, and says how it was asked.
type seenWorks struct {
	mu      sync.Mutex
	version int
	beaten  bool
	asked   []string
}

func (w *seenWorks) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	to.Header().Set("Content-Type", "application/json")
	refuse := func(code int, reason, cause string) {
		to.WriteHeader(code)
		fmt.Fprintf(to, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"details":{"name":"w","causes":[{"reason":%q}]}}`, reason, code, cause)
	}
	if r.Method == http.MethodPost {
		if w.beaten {
			refuse(http.StatusConflict, "AlreadyExists", "")
			return
		}
		w.version++
		fmt.Fprintf(to, `{"metadata":{"name":"w","namespace":"karmada-es-m1","uid":"u","resourceVersion":"%d"}}`, w.version)
		return
	}
	from, version := r.URL.Query().Get("resourceVersion"), 0
	if match := r.URL.Query().Get("resourceVersionMatch"); (from != "") != (match == "NotOlderThan") {
		refuse(http.StatusBadRequest, "BadRequest", "")
		return
	}
	w.asked = append(w.asked, from)
	if _, _ = fmt.Sscan(from, &version); version > w.version {
		refuse(http.StatusGatewayTimeout, "Timeout", "ResourceVersionTooLarge")
		return
	}
	fmt.Fprintf(to, `{"metadata":{"resourceVersion":"%d"},"items":[]}`, w.version)
}

// since is what the next list of a binding's Works asks for; it has two names, and so
// each list is two.
func (w *seenWorks) since(t *testing.T, list func() error) []string {
	t.Helper()
	w.mu.Lock()
	w.asked = nil
	w.mu.Unlock()
	if err := list(); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(w.asked)))
}

// TestWhatThisProcessSawIsNotWaitedFor: a list of a binding's Works has all that this
// process wrote, and is live where that is not known.
func TestWhatThisProcessSawIsNotWaitedFor(t *testing.T) {
	api := &seenWorks{version: 9}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	h, err := hub.Connect(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	key := propagation.BindingKey{Namespace: "shop", Name: "web-deployment"}
	named := func() error { _, err := h.WorksNamed(t.Context(), key); return err }
	work := &propagation.Work{Key: propagation.WorkKey{Cluster: "m1", Name: "w", Form: propagation.PolicyForm}}
	for _, step := range []struct {
		sentence string
		before   func() error
		list     func() error
		want     []string
	}{
		{sentence: "the first is live", list: named, want: []string{""}},
		{sentence: "the next has what the first had", list: named, want: []string{"9"}},
		{
			sentence: "a Work that was written is in it", list: named, want: []string{"10"},
			before: func() error { _, err := h.CommitWork(t.Context(), nil, work); return err },
		},
		{
			sentence: "who has to know what others wrote asks live", want: []string{""},
			list: func() error { _, err := h.WorksOf(t.Context(), key); return err },
		},
		{
			sentence: "a lost race makes it live", list: named, want: []string{""},
			before: func() error {
				api.beaten = true
				if _, err := h.CommitWork(t.Context(), nil, work); err == nil {
					return fmt.Errorf("the Work was made twice")
				}
				return nil
			},
		},
		{
			sentence: "a hub that was restored from a backup is asked live", list: named, want: []string{"", "10"},
			before: func() error { api.version = 3; return nil },
		},
		{sentence: "and has its own versions from then on", list: named, want: []string{"3"}},
	} {
		if step.before != nil {
			if err := step.before(); err != nil {
				t.Fatal(step.sentence, err)
			}
		}
		if diff := cmp.Diff(step.want, api.since(t, step.list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.sentence, diff)
		}
	}
}
