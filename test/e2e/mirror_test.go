// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
)

// mirror follows one kind in one cluster from its first use to the end of the
// run: what is there, and every write that the API server told of.
type mirror struct {
	cluster  string
	resource resource
	client   dynamic.NamespaceableResourceInterface
	metadata metadata.ResourceInterface
	stop     context.CancelFunc
	// tried is closed when the first list was answered, whatever the answer.
	tried chan struct{}

	mu      sync.Mutex
	objects map[string]*unstructured.Unstructured
	// present are the objects of each scenario.
	present map[string]map[string]*unstructured.Unstructured
	// history is by scenario: its label on the object, or its namespace.
	history map[string][]change
	version string
	// listed says that the first list is in: what it told of may be old.
	listed bool
}

// change is one write.
type change struct {
	cluster string
	kind    watch.EventType
	at      time.Time
	// first says that it was there when somebody first asked for its kind.
	first bool
	// before is nil for what was made, after is what was deleted for what was.
	before, after *unstructured.Unstructured
}

func newMirror(ctx context.Context, cluster string, r resource, c dynamic.Interface, md metadata.Interface) *mirror {
	ctx, stop := context.WithCancel(ctx)
	m := &mirror{
		cluster: cluster, resource: r, client: c.Resource(r.gvr()), metadata: md.Resource(r.gvr()), stop: stop, tried: make(chan struct{}),
		objects: map[string]*unstructured.Unstructured{}, present: map[string]map[string]*unstructured.Unstructured{},
		history: map[string][]change{},
	}
	go m.run(ctx)
	return m
}

// run lists and watches; where the cluster cannot be reached, or does not serve
// the kind, it tries again until it can.
func (m *mirror) run(ctx context.Context) {
	for first := true; ctx.Err() == nil; first = false {
		err := m.list(ctx)
		if first {
			close(m.tried)
		}
		if err == nil {
			for m.watch(ctx) {
				continue
			}
		}
		pause(ctx, 200*time.Millisecond)
	}
}

// pause is between two tries to reach a cluster.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func (m *mirror) list(ctx context.Context) error {
	l, err := m.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range l.Items {
		o := &l.Items[i]
		seen[keyOf(o)] = true
		m.take(watch.Modified, o)
	}
	m.mu.Lock()
	var gone []*unstructured.Unstructured
	for k, o := range m.objects {
		if !seen[k] {
			gone = append(gone, o)
		}
	}
	m.version, m.listed = l.GetResourceVersion(), true
	m.mu.Unlock()
	for _, o := range gone {
		m.take(watch.Deleted, o)
	}
	return nil
}

// watch follows the kind; false: it has to be listed again, as where the cluster has
// been restored from a backup since, and has not come to the version that is known.
func (m *mirror) watch(ctx context.Context) bool {
	w, err := m.client.Watch(ctx, metav1.ListOptions{ResourceVersion: m.version, AllowWatchBookmarks: true})
	if err != nil {
		return false
	}
	defer w.Stop()
	now, err := m.client.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil || versionOf(now.GetResourceVersion()) < versionOf(m.version) {
		return false
	}
	for e := range w.ResultChan() {
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type == watch.Error {
			return false
		}
		if e.Type != watch.Bookmark {
			m.take(e.Type, o)
		}
		m.mu.Lock()
		m.version = o.GetResourceVersion()
		m.mu.Unlock()
	}
	return ctx.Err() == nil
}

// take records one write; a version that is known already is none.
func (m *mirror) take(kind watch.EventType, o *unstructured.Unstructured) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key, scenario := keyOf(o), scenarioOf(o)
	before := m.objects[key]
	if kind != watch.Deleted && before != nil && before.GetResourceVersion() == o.GetResourceVersion() {
		return
	}
	if before != nil {
		delete(m.present[scenarioOf(before)], key)
	}
	if kind == watch.Deleted {
		delete(m.objects, key)
	} else {
		m.objects[key] = o
		if m.present[scenario] == nil {
			m.present[scenario] = map[string]*unstructured.Unstructured{}
		}
		m.present[scenario][key] = o
		kind = watch.Modified
		if before == nil {
			kind = watch.Added
		}
	}
	m.history[scenario] = append(m.history[scenario], change{cluster: m.cluster, kind: kind, at: time.Now(), first: !m.listed, before: before, after: o})
}

// get is the object of that key, or nil.
func (m *mirror) get(key string) *unstructured.Unstructured {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.objects[key]
}

// of are the objects of a scenario.
func (m *mirror) of(scenario string) []*unstructured.Unstructured {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.present[scenario]))
}

// since are the writes of a scenario from its nth on.
func (m *mirror) since(scenario string, n int) []change {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.history[scenario]
	return h[min(n, len(h)):len(h):len(h)]
}

// lag tells what of a scenario the cluster has otherwise than the mirror: a watch
// on a busy machine is behind. A cluster that does not answer has no news.
func (m *mirror) lag(ctx context.Context, scenario string) error {
	if m.resource == works {
		return m.lagOfAll(ctx)
	}
	l, err := m.listOf(ctx, scenario)
	if err != nil {
		return nil
	}
	there := map[string]bool{}
	for i := range l.Items {
		o := &l.Items[i]
		there[keyOf(o)] = true
		if have := m.get(keyOf(o)); have == nil || have.GetResourceVersion() != o.GetResourceVersion() {
			return fmt.Errorf("the test has not heard yet of version %s of %s %s in %s", o.GetResourceVersion(), o.GetKind(), keyOf(o), m.cluster)
		}
	}
	for _, o := range m.of(scenario) {
		if !there[keyOf(o)] {
			return fmt.Errorf("the test has not heard yet that %s %s is gone from %s", o.GetKind(), keyOf(o), m.cluster)
		}
	}
	return nil
}

// listOf asks the cluster for what of a scenario it has.
func (m *mirror) listOf(ctx context.Context, scenario string) (*unstructured.UnstructuredList, error) {
	if m.resource.clusterScoped {
		return m.client.List(ctx, metav1.ListOptions{LabelSelector: scenarioLabel + "=" + scenario})
	}
	return m.client.Namespace(scenario).List(ctx, metav1.ListOptions{})
}

// lagOfAll tells whether the mirror has not heard yet of the newest object. Which
// scenario a Work is of, only its content says, and to read all of that costs too
// much.
func (m *mirror) lagOfAll(ctx context.Context) error {
	l, err := m.metadata.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	newest := uint64(0)
	for i := range l.Items {
		newest = max(newest, version(l.Items[i].ResourceVersion))
	}
	m.mu.Lock()
	heard := version(m.version)
	m.mu.Unlock()
	if heard < newest {
		return fmt.Errorf("the test has heard of version %d of the %s in %s, and not of %d yet", heard, m.resource.plural, m.cluster, newest)
	}
	return nil
}

// version is a resource version as a number, by which the versions of a kind are
// ordered; 0: none yet.
func version(said string) uint64 {
	if said == "" {
		return 0
	}
	n, err := strconv.ParseUint(said, 10, 64)
	if err != nil {
		panic("resource version: " + err.Error())
	}
	return n
}

func keyOf(o *unstructured.Unstructured) string { return o.GetNamespace() + "/" + o.GetName() }

// scenarioLabel, on what has no namespace, names the scenario that it is of.
const scenarioLabel = "example.org/scenario"

// scenarioOf is the scenario that an object belongs to; a Work belongs to that
// of its manifest.
func scenarioOf(o *unstructured.Unstructured) string {
	if o.GetKind() == works.kind {
		if m := manifestOf(o); m != nil {
			return scenarioOf(m)
		}
		return ""
	}
	if s := o.GetLabels()[scenarioLabel]; s != "" {
		return s
	}
	return o.GetNamespace()
}

// manifestOf is the first manifest of a Work, or nil.
func manifestOf(w *unstructured.Unstructured) *unstructured.Unstructured {
	list := items(w.Object, "spec.workload.manifests")
	if len(list) == 0 {
		return nil
	}
	return &unstructured.Unstructured{Object: list[0]}
}
