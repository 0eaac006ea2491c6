// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"
)

// answered notes with which code a request was answered.
type answered struct {
	http.ResponseWriter
	code int
}

func (a *answered) WriteHeader(code int) { a.code = code; a.ResponseWriter.WriteHeader(code) }

func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// between has somebody write to what Sluice is about to delete, after it decided on that
// and before its request arrives, once for each resource, and notes the answers by that.
type between struct {
	s       *scenario
	hub     http.Handler
	mu      sync.Mutex
	answers map[string]int
}

func (b *between) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/") // "", apis, group, version, namespaces, its name, resource, name
	if r.Method != http.MethodDelete || len(parts) != 8 || !strings.HasPrefix(parts[7], "config") || !b.first(parts[6]) {
		b.hub.ServeHTTP(w, r)
		return
	}
	of := map[string]resource{works.plural: works, bindings.plural: bindings}[parts[6]]
	_, err := b.s.lab.hub.on(of, parts[5]).Patch(r.Context(), parts[7], mergePatch, []byte(`{"metadata":{"annotations":{"example.org/note":"just now"}}}`), patchOptions)
	if err != nil {
		b.s.Errorf("write to %s: %v", r.URL.Path, err)
	}
	a := &answered{w, http.StatusOK}
	b.hub.ServeHTTP(a, r)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[parts[6]] = a.code
}

// first tells whether nothing of that resource was to be deleted before.
func (b *between) first(plural string) bool {
	if plural != works.plural && plural != bindings.plural {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.answers[plural]; known {
		return false
	}
	b.answers[plural] = 0
	return true
}

// Bindings and Works are deleted in the version that was decided on, and in no other: what
// somebody changed meanwhile is read, and decided, again.
func TestZ19DeletedInTheVersionDecidedOn(t *testing.T) {
	alone(t, gatesOff, []form{pp}, func(s *scenario) {
		nginx, config := s.Deployment("nginx"), s.ConfigMap("config")
		s.Apply(config, s.follows("pp", nginx, "member1"), nginx.Using("config"))
		s.Expect(config).In("member1")
		s.Rest()
		b := &between{s: s, answers: map[string]int{}}
		s.whileAway(func() {
			s.party.together(func() {
				hub, way := s.fogged(s.lab.hub)
				b.hub, hub.cluster = hub.cluster, b
				s.second(way)
			})
			s.Apply(nginx) // which refers to nothing any more
			s.Expect(config).Nowhere().NoBinding()
		})
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, r := range []resource{works, bindings} {
			if code := b.answers[r.plural]; code != http.StatusConflict {
				s.Errorf("the first deletion of one of %s, which had just changed, was answered %d; want %d", r.plural, code, http.StatusConflict)
			}
		}
	})
}
