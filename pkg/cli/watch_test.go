// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"sluice.dev/test/pipelinetest/fixture"
)

// watchLog is what happened, in order. more is closed when there is more.
type watchLog struct {
	events []watchEvent
	more   chan struct{}
}

type watchEvent struct {
	version int
	path    string
	line    []byte
}

// tell notes what watches tell; was: the object was there before. With a.mu locked.
func (a *api) tell(was bool, path string, object map[string]any) {
	kind := "ADDED"
	if was {
		kind = "MODIFIED"
	}
	a.note(kind, path, object)
}

func (a *api) note(kind, path string, object map[string]any) {
	line, err := json.Marshal(map[string]any{"type": kind, "object": object})
	if err != nil {
		a.t.Fatal(err)
	}
	a.log.events = append(a.log.events, watchEvent{a.version, path, append(line, '\n')})
	if a.log.more != nil {
		close(a.log.more)
		a.log.more = nil
	}
}

// forget deletes an object, and tells. With a.mu locked.
func (a *api) forget(path string) {
	o, ok := a.objects[path]
	if !ok {
		return
	}
	delete(a.objects, path)
	a.version++
	u := (&unstructured.Unstructured{Object: o}).DeepCopy()
	u.SetResourceVersion(strconv.Itoa(a.version))
	a.note("DELETED", path, u.Object)
}

// watch tells of the objects of a kind, of all namespaces or of one.
func (a *api) watch(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("sendInitialEvents") != "" { // as an API server that does not: the client lists
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	plural := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	prefix := strings.TrimSuffix(r.URL.Path, plural)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for next := 0; ; {
		a.mu.Lock()
		events := a.log.events[next:]
		next = len(a.log.events)
		if a.log.more == nil {
			a.log.more = make(chan struct{})
		}
		more := a.log.more
		a.mu.Unlock()
		for _, e := range events {
			if e.version > from && strings.HasPrefix(e.path, prefix) && strings.Contains(e.path, "/"+plural+"/") {
				_, _ = w.Write(e.line)
			}
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-more:
		}
	}
}

// said is what a command that goes on has said until now.
type said struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// following runs a command that goes on, until the test ends it.
func following(t *testing.T, hub *api, args ...string) (out *said, end func() int) {
	t.Helper()
	out = &said{}
	ctx, cancel := context.WithCancel(t.Context())
	args = append(args, "--kubeconfig", hub.kubeconfig(), "--cache-dir", t.TempDir())
	code := make(chan int, 1)
	go func() {
		code <- Run(ctx, genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: out}, args)
	}()
	return out, func() int { cancel(); return <-code }
}

// until waits for what a command says.
func (s *said) until(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(strings.Join(strings.Fields(s.String()), " "), text); {
		if time.Now().After(deadline) {
			t.Fatalf("it does not say %q:\n%s", text, s)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestGetWatch(t *testing.T) {
	hub := shopInEachState(t)
	out, end := following(t, hub, "get", "deploy", "-w")
	out.until(t, "Deployment late pp/web")
	titles := strings.Count(out.String(), "POLICY")
	p := fixture.Policy("web").Kind().To("member1", "member2")
	b := hub.propagated(fixture.Deployment("fine"), p) // says what it said
	b.Status.AggregatedStatus[0].Applied = false
	hub.binding(b)
	out.until(t, "Deployment fine pp/web member1,member2 1/2")
	hub.remove("apps/v1/Deployment/shop/late")
	out.until(t, "Deployment late pp/web - 0/0 0/0 <gone>")
	hub.template(fixture.Deployment("new").ClaimedBy(p).Baseline())
	out.until(t, "Deployment new pp/web - 0/0 0/0 WaitingForTemplateChange")
	if code := end(); code != 0 {
		t.Errorf("Ctrl-C ends it with %d:\n%s", code, out)
	}
	if n := strings.Count(out.String(), "waits"); n != 1 {
		t.Errorf("a line that did not change is printed %d times:\n%s", n, out)
	}
	if titles != 1 || strings.Count(out.String(), "POLICY") != 1 {
		t.Errorf("titles are repeated:\n%s", out)
	}
}

func TestGetWatchOfPlacements(t *testing.T) {
	hub := placedShop(t)
	out, end := following(t, hub, "get", "crp", "-w", "-o", "name")
	out.until(t, "/shop")
	hub.put(crpRef+"another", map[string]any{"metadata": map[string]any{"creationTimestamp": metav1.Now()}})
	out.until(t, "/another")
	if code := end(); code != 0 || strings.Count(out.String(), "/shop") != 1 {
		t.Errorf("ends with %d:\n%s", code, out)
	}
}
