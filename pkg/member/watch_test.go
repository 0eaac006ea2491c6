// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
)

var configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// diary is what a watch announced.
type diary struct {
	namespace string
	mu        sync.Mutex
	changes   []Change
}

func (d *diary) note(c Change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes = append(d.changes, c)
}

// about are the changes of the object of that name, as lines.
func (d *diary) about(name string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, c := range d.changes {
		if c.Ref.Name == name && c.Ref.Namespace == d.namespace {
			out = append(out, fmt.Sprintf("%s of %s, deleted: %v", c.Ref.Kind, c.Work, c.Deleted))
		}
	}
	return out
}

// watching begins a watch and waits until it knows the object.
func (w *world) watching(d *diary, ref Ref) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Watch(ctx, ref.GroupVersionKind(), d.note) }()
	eventually(w.t, "the watch knows the object", func() bool {
		s := w.store(ref.GroupVersionKind())
		return s != nil && s.get(keyOf(ref.Namespace, ref.Name)) != nil
	})
	return func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("the watch ended with %v", err)
		}
	}
}

func TestWatch(t *testing.T) {
	w := anywhere(t)
	d, of, m := &diary{namespace: w.namespace}, work("settings-x"), w.manifest(configMap)
	ref := refOf(m)
	w.apply(of, m)
	stop := w.watching(d, ref)
	announced := func(times int) func() bool { return func() bool { return len(d.about("settings")) == times } }
	eventually(t, "the object that was there is announced", announced(1))
	if err := w.Watch(t.Context(), configMaps, d.note); !errors.Is(err, ErrWatched) {
		t.Errorf("a second watch: %v", err)
	}

	// Our own write is no news.
	set(m, "three", "data", "a")
	w.apply(of, m)
	w.writes.Store(0)
	w.apply(of, m)
	w.wantWrites(0, "right after a write, with a watch that may lag behind")

	// Somebody else's is, and the watch's state shows it.
	w.edit(ref, "kubectl", func(obj map[string]any) { set(obj, "theirs", "data", "a") })
	eventually(t, "drift is seen", func() bool {
		o, err := w.Observe(t.Context(), ref)
		return err == nil && drifted(of, m, o)
	})
	eventually(t, "it is announced", announced(2))
	w.apply(of, m)
	if got := field(w.live(ref), "data", "a"); got != "three" {
		t.Errorf("drift was not mended: %v", got)
	}

	// What is not ours is none of our business.
	foreign := w.manifest(`{apiVersion: v1, kind: ConfigMap, metadata: {name: foreign, namespace: %s}}`)
	if _, err := w.kubectl.objects.Resource(configMaps.GroupVersion().WithResource("configmaps")).Namespace(w.namespace).
		Create(t.Context(), &unstructured.Unstructured{Object: foreign}, createAs("kubectl")); err != nil {
		t.Fatal(err)
	}
	if _, err := drop(t.Context(), w.kubectl, ref, "settings-x"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deletion is announced", func() bool {
		got := d.about("settings")
		return got[len(got)-1] == "ConfigMap of settings-x, deleted: true"
	})
	if w.apply(of, m); len(d.about("foreign")) != 0 {
		t.Error("what is not ours was announced")
	}
	stop()
	if w.store(configMaps) != nil {
		t.Error("the watch ended and its objects are still there")
	}
}

func TestALabelOfOursThatIsRemovedReadsAsADeletion(t *testing.T) {
	w := anywhere(t)
	d, of, m := &diary{namespace: w.namespace}, work("settings-x"), w.manifest(configMap)
	w.apply(of, m)
	defer w.watching(d, refOf(m))()
	w.edit(refOf(m), "kubectl", func(obj map[string]any) {
		delete(field(obj, "metadata", "labels").(map[string]any), propagation.LabelMemberWork)
	})
	eventually(t, "the change is announced", func() bool { return len(d.about("settings")) == 2 })
	if a := w.apply(of, m); !a.Changed || field(w.live(refOf(m)), "metadata", "labels", propagation.LabelMemberWork) != "settings-x" {
		t.Errorf("Z5: not put back: %+v", a)
	}
}

// Many writers at once, with the watch's events before, between and behind the
// answers: none of our own writes is announced, and nothing is written twice.
func TestNoEchoUnderLoad(t *testing.T) {
	w := anywhere(t)
	d, first := &diary{namespace: w.namespace}, w.manifest(configMap)
	w.apply(work("settings-x"), first)
	defer w.watching(d, refOf(first))()
	const objects, rounds = 20, 10
	var wg sync.WaitGroup
	for i := range objects {
		wg.Go(func() {
			of, m := work(fmt.Sprintf("w%d", i)), w.manifest(configMap)
			set(m, fmt.Sprintf("c%d", i), "metadata", "name")
			for r := range rounds {
				set(m, fmt.Sprint(r), "data", "round")
				w.apply(of, m)
				w.apply(of, m)
			}
			if i%2 > 0 {
				return
			}
			if gone, err := drop(t.Context(), w.Client, refOf(m), of.Key.Name); !gone || err != nil {
				t.Errorf("c%d is deleted: %t, %v", i, gone, err)
			}
		})
	}
	wg.Wait()
	w.wantWrites(1+objects*rounds+objects/2, "for each change once")
	w.edit(refOf(first), "kubectl", func(obj map[string]any) { set(obj, "end", "data", "end") })
	eventually(t, "the last change is announced", func() bool { return len(d.about("settings")) == 2 })
	for i := range objects {
		if got := d.about(fmt.Sprintf("c%d", i)); len(got) != 0 {
			t.Errorf("our own writes came back: %v", got)
		}
	}
}

func TestAWatchSurvivesTheMembersRestart(t *testing.T) {
	w := onFake(t)
	d, of, m := &diary{namespace: w.namespace}, work("settings-x"), w.manifest(configMap)
	w.apply(of, m)
	defer w.watching(d, refOf(m))()
	w.api.CloseClientConnections()
	w.edit(refOf(m), "kubectl", func(obj map[string]any) { set(obj, "x", "data", "a") })
	eventually(t, "the change during the break is announced", func() bool { return len(d.about("settings")) == 2 })
	// A deletion during the break shows in the next list.
	w.api.CloseClientConnections()
	if _, err := drop(t.Context(), w.kubectl, refOf(m), "settings-x"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deletion is announced", func() bool { return len(d.about("settings")) == 3 })
}

// A member is restored from a backup, and answers again when its versions have grown past
// those that the watch had told: from where that ended nothing tells what was lost.
func TestZ22AMemberThatWasAwayIsListedAnew(t *testing.T) {
	w := onFake(t)
	var away atomic.Bool
	var met atomic.Int32
	w.api.answer = func(rw http.ResponseWriter, _ *http.Request) bool {
		if !away.Load() {
			return false
		}
		met.Add(1)
		http.Error(rw, "it is starting", http.StatusServiceUnavailable)
		return true
	}
	d, of, m := &diary{namespace: w.namespace}, work("settings-x"), w.manifest(configMap)
	w.apply(of, m)
	copied := w.live(refOf(m))
	defer w.watching(d, refOf(m))()
	set(m, "later", "data", "a")
	w.apply(of, m)

	away.Store(true)
	w.api.CloseClientConnections()
	// One request may lose its connection, and the answer with it, and is made once more.
	before := met.Load()
	eventually(t, "the watch finds the member away", func() bool { return met.Load() > before+1 })
	w.api.restore(target{resource: "configmaps", namespace: w.namespace, name: "settings"}, copied, 50)
	away.Store(false)
	eventually(t, "what was lost is told", func() bool { return len(d.about("settings")) == 2 })
	o, err := w.Observe(t.Context(), refOf(m))
	if err != nil || field(o.Object, "data", "a") == "later" {
		t.Errorf("observed is %v (%v), which the member has lost", o, err)
	}
}

func TestAWatchEndsWithItsClient(t *testing.T) {
	w := onFake(t)
	m := w.manifest(configMap)
	w.apply(work("settings-x"), m)
	done := make(chan error)
	go func() { done <- w.Watch(t.Context(), configMaps, func(Change) {}) }()
	eventually(t, "the watch runs", func() bool { s := w.store(configMaps); return s != nil && s.get(keyOf(w.namespace, "settings")) != nil })
	w.retire()
	if err := <-done; !errors.Is(err, ErrRetired) {
		t.Errorf("the watch ended with %v", err)
	}
	if err := w.Watch(t.Context(), schema.GroupVersionKind{Group: "no.such", Version: "v1", Kind: "Thing"}, nil); !errors.As(err, new(*NotServed)) {
		t.Errorf("a watch of what is not served: %v", err)
	}
}
