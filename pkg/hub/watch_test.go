// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
)

var resourceBinding = bindings.GroupVersion().WithKind("ResourceBinding")

func TestWatchTellsOfOthersOnly(t *testing.T) {
	l := newLab(t)
	there := l.somebodyMakesConfigMap("there")
	told := l.watch(configMap)
	told.until("Added there")
	tmpl, err := l.Template(l.ctx, there)
	must(t, err)
	_, err = l.CommitClaim(l.ctx, tmpl, claimOf(propagation.Namespaced), "b")
	must(t, err)
	l.somebodyMakesConfigMap("later")
	if diff := cmp.Diff([]string{"Added later"}, told.until("Added later")); diff != "" {
		t.Errorf("after an own write (-want +got):\n%s", diff)
	}
	l.somebodyPatches(configMaps, l.namespace, "there", `{"data":{"a":"y"}}`)
	l.somebodyDeletes(configMaps, l.namespace, "later")
	if diff := cmp.Diff([]string{"Updated there", "Deleted later"}, told.until("Deleted later")); diff != "" {
		t.Errorf("after the writes of somebody else (-want +got):\n%s", diff)
	}
	tmpl, err = l.Template(l.ctx, there)
	must(t, err)
	if tmpl.Object["data"].(map[string]any)["a"] != "y" || !tmpl.Claim.Held() {
		t.Errorf("template: %v", tmpl.Object)
	}
}

func TestWatchTellsNothingOfOwnBindings(t *testing.T) {
	l := newLab(t)
	told := l.watch(resourceBinding)
	b := l.newBinding(propagation.Namespaced)
	var err error
	for i := range 20 {
		var old *propagation.Binding
		if i > 0 {
			old, err = l.Binding(l.ctx, b.Key)
			must(t, err)
		}
		b.Annotations = map[string]string{"n": strconv.Itoa(i)}
		_, err = l.CommitBinding(l.ctx, old, b)
		must(t, err)
	}
	made, err := l.Binding(l.ctx, b.Key)
	must(t, err)
	must(t, l.DeleteBinding(l.ctx, made))
	l.somebodyMakes(bindings, "{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: last, namespace: "+l.namespace+"}, spec: {resource: {apiVersion: v1, kind: Secret, name: x}}}")
	if diff := cmp.Diff([]string{"Added last"}, told.until("Added last")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadsOfAWatchedKindMakeNoRequest(t *testing.T) {
	l := newLab(t)
	l.watch(resourceBinding)
	l.watch(bindings.GroupVersion().WithKind("ClusterResourceBinding"))
	l.watch(policies.GroupVersion().WithKind("PropagationPolicy"))
	l.watch(policies.GroupVersion().WithKind("ClusterPropagationPolicy"))
	l.watch(clusters.GroupVersion().WithKind("Cluster"))
	l.watch(works.GroupVersion().WithKind("Work"))
	l.watch(configMap)
	b, err := l.CommitBinding(l.ctx, nil, l.newBinding(propagation.Namespaced))
	must(t, err)
	_, err = l.Policies(l.ctx) // asks where the kinds are served that policies select
	must(t, err)
	l.requests.take()
	_, err = l.Binding(l.ctx, b.Key)
	must(t, err)
	_, err = l.Bindings(l.ctx)
	must(t, err)
	_, err = l.Policies(l.ctx)
	must(t, err)
	_, err = l.Clusters(l.ctx)
	must(t, err)
	_, err = l.Works(l.ctx)
	must(t, err)
	_, err = l.WorksOf(l.ctx, b.Key)
	must(t, err)
	_, err = l.Features(l.ctx)
	must(t, err)
	_, _ = l.Binding(l.ctx, propagation.BindingKey{Namespace: l.namespace, Name: "unknown"})
	l.wantRequests()
}

func TestAfterALostRaceTheNextReadIsLive(t *testing.T) {
	l := newLab(t)
	l.watch(resourceBinding)
	b, err := l.CommitBinding(l.ctx, nil, l.newBinding(propagation.Namespaced))
	must(t, err)
	for i := range 20 {
		theirs := l.somebodyPatches(bindings, b.Key.Namespace, b.Key.Name, fmt.Sprintf(`{"metadata":{"labels":{"theirs":"%d"}}}`, i))
		_, err = l.CommitBinding(l.ctx, b, changed(b, func(b *propagation.Binding) { b.Annotations = map[string]string{"ours": strconv.Itoa(i)} }))
		if !outcome.IsConflict(err) {
			t.Fatalf("on an old version: %v, want a conflict", err)
		}
		if b, err = l.Binding(l.ctx, b.Key); err != nil || b.ResourceVersion != theirs.GetResourceVersion() {
			t.Fatalf("read %v (%v), want version %s", b, err, theirs.GetResourceVersion())
		}
	}
}

// TestManyWriters commits from many goroutines, against somebody else who
// writes too: nothing is lost.
func TestManyWriters(t *testing.T) {
	l := newLab(t)
	l.watch(resourceBinding)
	b, err := l.CommitBinding(l.ctx, nil, l.newBinding(propagation.Namespaced))
	must(t, err)
	const writers, rounds = 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range rounds {
				if err := l.increment(b.Key, fmt.Sprint("w", w)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range rounds {
		l.somebodyPatches(bindings, b.Key.Namespace, b.Key.Name, fmt.Sprintf(`{"metadata":{"annotations":{"theirs":"%d"}}}`, i))
	}
	wg.Wait()
	want := map[string]string{"note": "a", "theirs": strconv.Itoa(rounds - 1)}
	for w := range writers {
		want[fmt.Sprint("w", w)] = strconv.Itoa(rounds)
	}
	if diff := cmp.Diff(want, l.live(bindings, b.Key.Namespace, b.Key.Name).GetAnnotations()); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// increment adds one to an annotation, however often it takes.
func (l *lab) increment(key propagation.BindingKey, annotation string) error {
	for {
		b, err := l.Binding(l.ctx, key)
		if err != nil {
			return err
		}
		next := *b
		next.Annotations = map[string]string{}
		for k, v := range b.Annotations {
			next.Annotations[k] = v
		}
		n, _ := strconv.Atoi(next.Annotations[annotation])
		next.Annotations[annotation] = strconv.Itoa(n + 1)
		if _, err = l.CommitBinding(l.ctx, b, &next); !outcome.IsConflict(err) {
			return err
		}
	}
}

func TestUnwatch(t *testing.T) {
	l := newLab(t)
	l.watch(configMap)
	key := l.somebodyMakesConfigMap("settings")
	l.waitFor("the template", func() bool { _, err := l.Template(l.ctx, key); return err == nil })
	l.Unwatch(configMap)
	l.requests.take()
	_, err := l.Template(l.ctx, key)
	must(t, err)
	l.wantRequests("GET /api/v1/namespaces/" + l.namespace + "/configmaps/settings")
	l.watch(configMap)
	l.requests.take()
	_, err = l.Template(l.ctx, key)
	must(t, err)
	l.wantRequests()
}

func TestWatchOfAKindThatIsWatched(t *testing.T) {
	l := newLab(t)
	told := l.watch(configMap)
	l.requests.take()
	must(t, l.Watch(l.ctx, configMap, func(hub.Change) { t.Error("the second one is told") }))
	l.wantRequests()
	l.somebodyMakesConfigMap("settings")
	told.until("Added settings")
}

// scripted is an API server that serves Works from a script.
type scripted struct {
	t     *testing.T
	mu    sync.Mutex
	lists []string
	// watches are answers by resourceVersion; one that is not there never ends, and nor does
	// the last.
	watches map[string]string
	last    string
	// after holds the watch from a resourceVersion back until somebody closes it:
	// what comes sooner is told together with what came before.
	after map[string]chan struct{}
	// held tells of each watch that is held back.
	held chan string
	// told is what the watch of hears told, in its order.
	told chan string
	// wrote is the answer to each write.
	wrote string
	// away is the resourceVersion from which the first watch finds it starting; empty:
	// none does.
	away string
	// now are the versions that it has come to, for who asks for one object only;
	// of the last one there is no end. Zero: it does not serve.
	now []int
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") != "" {
		from := r.URL.Query().Get("resourceVersion")
		s.mu.Lock()
		away := from == s.away
		if away {
			s.away = ""
		}
		s.mu.Unlock()
		if away {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if heard := s.after[from]; heard != nil {
			select {
			case s.held <- from:
			default: // nobody waits for it
			}
			select {
			case <-heard:
			case <-r.Context().Done():
				return
			}
		}
		events, ok := s.watches[from]
		fmt.Fprint(w, events)
		w.(http.Flusher).Flush()
		if !ok || from == s.last {
			<-r.Context().Done()
		}
		return
	}
	if r.Method != http.MethodGet {
		fmt.Fprint(w, s.wrote)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Query().Get("limit") == "1" {
		now := s.now[0]
		if len(s.now) > 1 {
			s.now = s.now[1:]
		}
		if now == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, scriptedList(now, ""))
		return
	}
	if len(s.lists) == 0 {
		s.t.Error("nobody expected another list")
		return
	}
	fmt.Fprint(w, s.lists[0])
	s.lists = s.lists[1:]
}

// hears follows the script's Works, wants to be told of each of these in turn, and
// goes on with the watch from a resourceVersion after the one that is said to be
// heard before it.
func (s *scripted) hears(before map[string]string, want ...string) *hub.Hub {
	s.t.Helper()
	s.after, s.held = map[string]chan struct{}{}, make(chan string, len(before))
	for from := range before {
		s.after[from] = make(chan struct{})
	}
	server := httptest.NewServer(s)
	s.t.Cleanup(server.Close)
	h, err := hub.Connect(&rest.Config{Host: server.URL})
	must(s.t, err)
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(cancel) // before the server waits for its requests
	s.told = make(chan string)
	must(s.t, h.Watch(ctx, works.GroupVersion().WithKind("Work"), func(c hub.Change) {
		select {
		case s.told <- fmt.Sprintf("%s %s@%s", c.Type, c.Key.Name, c.Version):
		case <-ctx.Done():
		}
	}))
	for _, want := range want {
		s.hear(want)
		for from, heard := range before {
			if heard == want {
				close(s.after[from])
			}
		}
	}
	return h
}

// hear wants to be told of this next.
func (s *scripted) hear(want string) {
	s.t.Helper()
	select {
	case got := <-s.told:
		if got != want {
			s.t.Fatalf("told %s, want %s", got, want)
		}
	case <-time.After(30 * time.Second):
		s.t.Fatalf("told nothing, want %s", want)
	}
}

func scriptedWork(name string, version int) string {
	return fmt.Sprintf(`{"metadata":{"namespace":"karmada-es-m","name":%q,"uid":"uid-of-%s","resourceVersion":"%d"}}`, name, name, version)
}

func scriptedList(version int, cont string, items ...string) string {
	list := map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(version), "continue": cont}}
	var raw []json.RawMessage
	for _, item := range items {
		raw = append(raw, json.RawMessage(item))
	}
	list["items"] = raw
	encoded, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

func TestWatchGoesOnAfterItWasLost(t *testing.T) {
	script := &scripted{
		t: t, now: []int{40}, last: "30",
		lists: []string{
			scriptedList(10, "more", scriptedWork("a", 5)),
			scriptedList(10, "", scriptedWork("b", 6)),
			scriptedList(30, "", scriptedWork("b", 6), scriptedWork("c", 25)),
		},
		watches: map[string]string{
			"10": `{"type":"MODIFIED","object":` + scriptedWork("a", 11) + `}` + `{"type":"MODIFIED","object":{"spec":7}}`,
			"11": `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"20"}}}` + `{"type":"MOD`,
			"20": `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired"}}`,
			"30": `{"type":"ADDED","object":` + scriptedWork("d", 31) + `}`,
		},
	}
	h := script.hears(map[string]string{"10": "Added b@6", "11": "Updated a@11"},
		"Added a@5", "Added b@6", "Updated a@11", "Added c@25", "Deleted a@30", "Added d@31")
	if all, err := h.Works(t.Context()); err != nil || len(all) != 3 {
		t.Errorf("works: %v, %v", all, err)
	}
}

// The hub is restored from a backup: a watch from the version that was known would
// be told of nothing.
func TestZ21WatchOfAHubThatWasRestored(t *testing.T) {
	script := &scripted{
		t: t, now: []int{0, 12, 40}, last: "12",
		lists: []string{
			scriptedList(30, "", scriptedWork("a", 5), scriptedWork("b", 25), scriptedWork("e", 29)),
			scriptedList(12, "", scriptedWork("a", 5), scriptedWork("c", 11), scriptedWork("e", 9)),
		},
		watches: map[string]string{
			"30": `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"40"}}}`,
			"12": `{"type":"ADDED","object":` + scriptedWork("d", 13) + `}`,
		},
	}
	h := script.hears(map[string]string{"30": "Added e@29"},
		"Added a@5", "Added b@25", "Added e@29",
		"Updated a@5", "Added c@11", "Updated e@9", "Deleted b@12", "Added d@13")
	all, err := h.Works(t.Context())
	must(t, err)
	var got []string
	for _, w := range all {
		got = append(got, w.Key.Name+"@"+w.ResourceVersion)
	}
	if diff := cmp.Diff([]string{"a@5", "c@11", "d@13", "e@9"}, got); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
}

// While nobody watched, the restored hub has come past every version that was known: what
// it has is listed, for a watch would tell of nothing that came before.
func TestZ21AHubThatWasAwayIsListedAnew(t *testing.T) {
	for sentence, tc := range map[string]struct {
		away string
	}{
		"it was starting when the watch was to be opened again":   {"40"},
		"the watch was cut, and told nothing since it was opened": {""},
	} {
		t.Run(sentence, func(t *testing.T) {
			script := &scripted{
				t: t, now: []int{50}, away: tc.away,
				lists: []string{
					scriptedList(30, "", scriptedWork("a", 5), scriptedWork("b", 25), scriptedWork("e", 29)),
					scriptedList(50, "", scriptedWork("a", 5), scriptedWork("c", 35), scriptedWork("e", 28)),
				},
				watches: map[string]string{
					"30": `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"40"}}}`,
					"40": "", // it ends at once
					"50": `{"type":"ADDED","object":` + scriptedWork("d", 51) + `}`,
				},
			}
			script.hears(map[string]string{"30": "Added e@29"},
				"Added a@5", "Added b@25", "Added e@29",
				"Updated a@5", "Added c@35", "Updated e@28", "Deleted b@50", "Added d@51")
		})
	}
}

// The backup is younger than what the watch told, and older than what this process wrote:
// its own writes never were.
func TestZ21TheHubWentBackBehindTheOwnWrites(t *testing.T) {
	script := &scripted{
		t: t, now: []int{33}, wrote: scriptedWork("a", 35),
		lists: []string{
			scriptedList(30, "", scriptedWork("a", 5), scriptedWork("b", 25)),
			scriptedList(33, "", scriptedWork("a", 5), scriptedWork("b", 25)),
		},
		watches: map[string]string{"30": ""},
	}
	h := script.hears(map[string]string{"30": "the own write"}, "Added a@5", "Added b@25")
	known := func() (versions []string) {
		all, err := h.Works(t.Context())
		must(t, err)
		for _, w := range all {
			versions = append(versions, w.Key.Name+"@"+w.ResourceVersion)
		}
		return versions
	}
	all, err := h.Works(t.Context())
	must(t, err)
	_, err = h.CommitWorkStatus(t.Context(), all[0], workv1alpha1.WorkStatus{Conditions: []metav1.Condition{{Type: "Applied"}}})
	must(t, err)
	if diff := cmp.Diff([]string{"a@35", "b@25"}, known()); diff != "" {
		t.Fatalf("known (-want +got):\n%s", diff)
	}
	close(script.after["30"]) // the watch ends
	script.hear("Updated a@5")
	script.hear("Updated b@25")
	if diff := cmp.Diff([]string{"a@5", "b@25"}, known()); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
}

func TestConnectMakesNoRequest(t *testing.T) {
	h, err := hub.Connect(&rest.Config{Host: "http://127.0.0.1:1"})
	must(t, err)
	if _, err := h.Clusters(t.Context()); err == nil || outcome.IsConflict(err) || outcome.IsTerminal(err) {
		t.Errorf("a hub that is down: %v, want a plain error", err)
	}
	if err := h.Watch(t.Context(), configMap, nil); err == nil {
		t.Error("a hub that is down is watched")
	}
}
