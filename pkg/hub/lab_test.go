// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package hub_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"sluice.dev/pkg/hub"
)

var (
	crds         = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMaps   = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets      = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	events       = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	revisions    = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}
	policies     = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies"}
	clusters     = schema.GroupVersionResource{Group: "cluster.karmada.io", Version: "v1alpha1", Resource: "clusters"}
	bindings     = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings"}
	works        = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha1", Resource: "works"}
)

// lab is a real API server, a Hub on it whose requests are counted, and
// somebody else who writes to it.
type lab struct {
	*hub.Hub
	t         *testing.T
	ctx       context.Context
	other     dynamic.Interface
	requests  *requests
	namespace string
}

var installOnce sync.Once

// newLab skips the test where there is no hub.
func newLab(t *testing.T) *lab {
	t.Helper()
	path := os.Getenv("SLUICE_HUB_KUBECONFIG")
	if path == "" {
		path = filepath.Join("..", "..", "_output", "kubeconfig", "hub")
		if _, err := os.Stat(path); err != nil {
			t.Skipf("no hub: run `make lab-up`, or name a kubeconfig in SLUICE_HUB_KUBECONFIG (%v)", err)
		}
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	must(t, err)
	other, err := dynamic.NewForConfig(unlimited(cfg))
	must(t, err)
	l := &lab{t: t, ctx: t.Context(), other: other, requests: &requests{}}
	installOnce.Do(l.installCRDs)
	counted := rest.CopyConfig(cfg)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { return l.requests.on(next) })
	l.Hub, err = hub.Connect(counted)
	must(t, err)
	l.namespace = l.makeNamespace("hub-test-")
	return l
}

func unlimited(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	return cfg
}

func (l *lab) installCRDs() {
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "300-crds", "*.yaml"))
	must(l.t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		must(l.t, err)
		o := &unstructured.Unstructured{}
		must(l.t, yaml.Unmarshal(raw, &o.Object))
		_, err = l.other.Resource(crds).Apply(l.ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "test", Force: true})
		must(l.t, err)
		l.waitFor("CRD "+o.GetName(), func() bool { return l.established(o.GetName()) })
	}
}

func (l *lab) established(crd string) bool {
	o, err := l.other.Resource(crds).Get(l.ctx, crd, metav1.GetOptions{})
	must(l.t, err)
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == "Established" && m["status"] == "True"
	})
}

// makeNamespace returns when the cluster has put its own ConfigMap into it: what
// is watched or listed in it afterwards is the test's.
func (l *lab) makeNamespace(prefix string) string {
	l.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": prefix}}}
	o, err := l.other.Resource(namespaces).Create(l.ctx, o, metav1.CreateOptions{})
	must(l.t, err)
	l.t.Cleanup(func() { l.somebodyDeletesLater(namespaces, o.GetName()) })
	l.waitFor("the cluster's own ConfigMap in "+o.GetName(), func() bool {
		_, err := l.of(configMaps, o.GetName()).Get(l.ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil
	})
	return o.GetName()
}

// somebodyMakes makes an object, of the lab's namespace or of none.
func (l *lab) somebodyMakes(gvr schema.GroupVersionResource, manifest string) *unstructured.Unstructured {
	l.t.Helper()
	o := &unstructured.Unstructured{}
	must(l.t, yaml.Unmarshal([]byte(manifest), &o.Object))
	o, err := l.of(gvr, o.GetNamespace()).Create(l.ctx, o, metav1.CreateOptions{FieldManager: "somebody"})
	must(l.t, err)
	return o
}

// somebodyPatches applies a merge patch.
func (l *lab) somebodyPatches(gvr schema.GroupVersionResource, namespace, name, patch string) *unstructured.Unstructured {
	l.t.Helper()
	o, err := l.of(gvr, namespace).Patch(l.ctx, name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{FieldManager: "somebody"})
	must(l.t, err)
	return o
}

func (l *lab) somebodyDeletes(gvr schema.GroupVersionResource, namespace, name string) {
	l.t.Helper()
	must(l.t, l.of(gvr, namespace).Delete(l.ctx, name, metav1.DeleteOptions{}))
}

// somebodyDeletesLater is for cleaning up.
func (l *lab) somebodyDeletesLater(gvr schema.GroupVersionResource, name string) {
	_ = l.other.Resource(gvr).Delete(context.Background(), name, metav1.DeleteOptions{})
}

func (l *lab) live(gvr schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	l.t.Helper()
	o, err := l.of(gvr, namespace).Get(l.ctx, name, metav1.GetOptions{})
	must(l.t, err)
	return o
}

func (l *lab) of(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return l.other.Resource(gvr)
	}
	return l.other.Resource(gvr).Namespace(namespace)
}

// waitFor waits until the API server has come to something.
func (l *lab) waitFor(what string, done func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// watch watches a kind, and returns what is told of the lab's own objects.
func (l *lab) watch(gvk schema.GroupVersionKind) *changes {
	l.t.Helper()
	c := &changes{l: l, arrived: make(chan struct{}, 1)}
	must(l.t, l.Watch(l.ctx, gvk, c.add))
	return c
}

// changes are what a watch told.
type changes struct {
	l       *lab
	mu      sync.Mutex
	all     []string
	arrived chan struct{}
}

func (c *changes) add(change hub.Change) {
	if change.Key.Namespace != "" && !strings.HasSuffix(change.Key.Namespace, c.l.namespace) {
		return
	}
	c.mu.Lock()
	c.all = append(c.all, string(change.Type)+" "+change.Key.Name)
	c.mu.Unlock()
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

// until waits for a change, and returns all until then, once.
func (c *changes) until(last string) []string {
	c.l.t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		c.mu.Lock()
		if i := slices.Index(c.all, last); i >= 0 {
			told := c.all[:i+1]
			c.all = c.all[i+1:]
			c.mu.Unlock()
			return told
		}
		c.mu.Unlock()
		select {
		case <-c.arrived:
		case <-timeout:
			c.mu.Lock()
			defer c.mu.Unlock()
			c.l.t.Fatalf("nobody was told: %s; but %q", last, c.all)
		}
	}
}

// requests counts.
type requests struct {
	mu  sync.Mutex
	all []string
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (r *requests) on(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		r.mu.Lock()
		if req.URL.Query().Get("watch") == "" {
			r.all = append(r.all, req.Method+" "+req.URL.Path)
		}
		r.mu.Unlock()
		return next.RoundTrip(req)
	})
}

// take returns what was requested since it was last asked.
func (r *requests) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// want fails the test unless exactly that was requested since last asked.
func (l *lab) wantRequests(want ...string) {
	l.t.Helper()
	got := l.requests.take()
	if !slices.Equal(got, want) {
		l.t.Errorf("requests: %q, want %q", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
