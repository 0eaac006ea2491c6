// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/client"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/protocol"

	events "sluice.dev/apis/events/v1"
)

// told is what an adapter of a member was started with.
type told struct{ member, kubeconfig string }

func TestEachMemberHasAnAdapter(t *testing.T) {
	dir := t.TempDir()
	write := func(member, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, member), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, member, kubeconfig), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("m1", "one")
	write("m2", "two")
	write("down", "three")
	starts := make(chan told, 100)
	f := &fleet{dir: dir, pause: time.Millisecond, reread: time.Millisecond, run: func(ctx context.Context, member string, raw []byte) error {
		starts <- told{member, string(raw)}
		if member == "down" {
			return errors.New("no route")
		}
		<-ctx.Done()
		return nil
	}}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Start(ctx) }()

	seen := map[told]int{}
	until := func(what string, holds func() bool) {
		t.Helper()
		for !holds() {
			select {
			case s := <-starts:
				seen[s]++
			case <-t.Context().Done():
				t.Fatalf("%s: not so, of %v", what, seen)
			case <-time.After(10 * time.Second):
				t.Fatalf("%s: not so, of %v", what, seen)
			}
		}
	}
	until("a member that ends is begun anew, and ends no other", func() bool {
		return seen[told{"m1", "one"}] == 1 && seen[told{"m2", "two"}] == 1 && seen[told{"down", "three"}] > 2
	})
	write("m1", "another")
	until("another kubeconfig is used", func() bool { return seen[told{"m1", "another"}] == 1 })
	if seen[told{"m2", "two"}] != 1 {
		t.Errorf("the other member was begun anew: %v", seen)
	}
	end()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

// sent keeps the events that are sent.
type sent struct {
	client.Client
	mu  sync.Mutex
	all []event.Event
}

func (s *sent) Send(_ context.Context, e event.Event) protocol.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, e)
	return nil
}

// take returns what was sent since it was taken last.
func (s *sent) take() []event.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return all
}

func TestAnEventSaysOfWhichMemberItIs(t *testing.T) {
	broker := &sent{}
	for _, member := range []string{"m1", "m2"} {
		if err := (of{broker, member}).Send(t.Context(), event.New()); err != nil {
			t.Fatal(err)
		}
	}
	var clusters []string
	for _, e := range broker.take() {
		clusters = append(clusters, e.Extensions()[events.ExtCluster].(string))
	}
	if !slices.Equal(clusters, []string{"m1", "m2"}) {
		t.Errorf("told of %v", clusters)
	}
}

// A kubeconfig comes from whoever may write the Secret.
func TestAKubeconfigRunsNothing(t *testing.T) {
	raw := []byte(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
		"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:1"}}],
		"users":[{"name":"u","user":{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"touch"}}}]}`)
	if err := runMember(t.Context(), nil, nil, "m1", raw); err == nil {
		t.Error("it is used")
	}
}
