// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
)

// realCluster, if set, names a kubeconfig of a real cluster: the tests that do
// not need a fake's faults then run on it.
var realCluster = os.Getenv("SLUICE_MEMBER_KUBECONFIG")

// source is one cluster, and its Secret.
type source struct {
	cluster *clusterv1alpha1.Cluster
	secret  map[string][]byte
	reads   atomic.Int32
	// alike are versions that are others' names.
	alike map[schema.GroupVersionKind][]string
}

func (s *source) Cluster(_ context.Context, name string) (*clusterv1alpha1.Cluster, error) {
	if s.cluster == nil || s.cluster.Name != name {
		return nil, outcome.ErrGone
	}
	return s.cluster, nil
}

func (s *source) Secret(context.Context, string, string) (map[string][]byte, error) {
	s.reads.Add(1)
	if s.secret == nil {
		return nil, outcome.ErrGone
	}
	return s.secret, nil
}

func (s *source) Alike(_ context.Context, gvk schema.GroupVersionKind) ([]string, error) {
	return s.alike[gvk], nil
}

// world is a member, a client of it that counts its writes, and a person who
// works there with kubectl.
type world struct {
	*Client
	t         *testing.T
	api       *fakeAPI // nil: a real one
	source    *source
	namespace string
	writes    atomic.Int32
	kubectl   *Client
}

func newSource(t *testing.T, f *fakeAPI) *source {
	t.Helper()
	s := &source{cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1", UID: "c1", Generation: 1}}, secret: map[string][]byte{}}
	s.cluster.Spec.SecretRef = &clusterv1alpha1.LocalSecretReference{Namespace: "sluice-system", Name: "member1"}
	if f != nil {
		s.cluster.Spec.APIEndpoint = f.URL
		s.secret["token"] = []byte("t")
		s.secret["caBundle"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
		return s
	}
	raw, err := os.ReadFile(realCluster)
	if err != nil {
		t.Fatal(err)
	}
	s.secret["kubeconfig"] = raw
	return s
}

// onFake is a world whose member is a fake, for faults.
func onFake(t *testing.T) *world { return inWorld(t, newFakeAPI(t)) }

// anywhere is a world whose member is real where there is a real one.
func anywhere(t *testing.T) *world {
	if realCluster != "" {
		return inWorld(t, nil)
	}
	return onFake(t)
}

func inWorld(t *testing.T, f *fakeAPI) *world {
	w := &world{t: t, api: f, source: newSource(t, f), namespace: "shop-" + rand.String(5)}
	client := func() *Client {
		c, err := NewFleet(w.source).Client(t.Context(), "member1")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	w.Client, w.kubectl = client(), client()
	w.http.Transport = &counter{w.http.Transport, &w.writes}
	if err := w.kubectl.EnsureNamespace(t.Context(), w.namespace, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.kubectl.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Delete(context.Background(), w.namespace, metav1.DeleteOptions{})
	})
	return w
}

// counter counts writes.
type counter struct {
	http.RoundTripper
	writes *atomic.Int32
}

func (c *counter) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		c.writes.Add(1)
	}
	return c.RoundTripper.RoundTrip(r)
}

// manifest decodes YAML; %s is the namespace.
func (w *world) manifest(doc string) map[string]any {
	w.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(fmt.Sprintf(doc, w.namespace)))
	if err != nil {
		w.t.Fatal(err)
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(raw, &obj); err != nil {
		w.t.Fatal(err)
	}
	return obj
}

// work is a Work of that name that nothing was applied for yet.
func work(name string) *propagation.Work {
	return &propagation.Work{Key: propagation.WorkKey{Cluster: "member1", Name: name}, Spec: workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{Manifests: make([]workv1alpha1.Manifest, 1)}}}
}

// applied is what became of bring.
type applied struct {
	// Changed tells whether the member's object was written and is another now.
	Changed bool
	Object  map[string]any
	State   workv1alpha1.AppliedState
}

// bring looks, decides and writes as the applier does.
func bring(ctx context.Context, c *Client, of *propagation.Work, manifest map[string]any, t applying.TakeOver) (applied, error) {
	live, err := c.Look(ctx, refOf(manifest), Looking{First: of.Status.Applied == nil})
	if err != nil {
		return applied{}, err
	}
	d := applying.Decide(applying.Input{Work: of, Manifest: manifest, Known: applying.KnownOf(of, manifest), Live: live, TakeOver: t})
	switch {
	case d.Action == applying.Keep:
		return applied{Object: live.Value.Object, State: d.State}, nil
	case d.Reason == applying.ReasonNotOurs:
		return applied{}, &NotOurs{Cluster: c.name, Ref: refOf(manifest), Work: d.Other}
	case d.Reason == applying.ReasonKindNotServed:
		return applied{}, &NotServed{c.name, refOf(manifest).GroupVersionKind()}
	}
	now, err := c.Write(ctx, of, "", manifest, live.Value)
	if err != nil {
		return applied{}, err
	}
	return applied{
		Changed: live.Value == nil || live.Value.Version != now.Version, Object: now.Object,
		State: workv1alpha1.AppliedState{ManifestHash: propagation.HashJSON(manifest), FieldsHash: now.FieldsHash, UID: now.UID},
	}, nil
}

// drop looks, decides and deletes as the applier does with the Work of a template
// that is gone.
func drop(ctx context.Context, c *Client, ref Ref, workName string) (gone bool, err error) {
	live, err := c.Look(ctx, ref, Looking{Live: true})
	if err != nil {
		return false, err
	}
	template, err := json.Marshal(ref)
	if err != nil {
		return false, err
	}
	of := work(propagation.WorkName(propagation.BindingOf(ref)))
	of.Annotations = map[string]string{propagation.AnnotationTemplate: string(template)}
	finding := applying.Examine(applying.Evidence{Others: applying.Have(applying.Others{}), Work: of, Template: applying.None[*propagation.Template](), Cluster: applying.Have(&clusterv1alpha1.Cluster{})})
	of.Key.Name = workName
	r, ok := applying.Decide(applying.Input{Work: of, Live: live, Leaving: true, Finding: finding, Inside: applying.Have([]applying.Inhabitant{})}).Removal()
	if !ok {
		return false, nil
	}
	return c.Delete(ctx, ref, r)
}

// drifted tells whether the reporter would take the object for drifted.
func drifted(of *propagation.Work, manifest map[string]any, o *Observed) bool {
	return applying.Decide(applying.Input{Work: of, Manifest: manifest, Known: applying.KnownOf(of, manifest), Live: applying.Have(o)}).Drift()
}

// apply applies and keeps the state in the Work, as the applier does.
func (w *world) apply(of *propagation.Work, manifest map[string]any) applied {
	w.t.Helper()
	a, err := bring(w.t.Context(), w.Client, of, manifest, applying.TakeOverNever)
	if err != nil {
		w.t.Fatal(err)
	}
	of.Status.Applied = &a.State
	return a
}

// edit changes the object as a person does who writes with that name.
func (w *world) edit(ref Ref, manager string, change func(obj map[string]any), sub ...string) {
	w.t.Helper()
	at, _, err := w.kubectl.resource(w.t.Context(), ref)
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		u, err := at.Get(w.t.Context(), ref.Name, metav1.GetOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(sub) > 0 {
			scale := map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": map[string]any{"name": ref.Name, "namespace": ref.Namespace}, "spec": map[string]any{}}
			u = &unstructured.Unstructured{Object: scale}
		}
		change(u.Object)
		if _, err = at.Update(w.t.Context(), u, metav1.UpdateOptions{FieldManager: manager}, sub...); err == nil {
			return
		}
		if !outcome.IsConflict(w.kubectl.classify(w.t.Context(), err, ref.GroupVersionKind(), ref.Namespace)) {
			w.t.Fatal(err)
		}
	}
}

// live is the object as the API server has it.
func (w *world) live(ref Ref) map[string]any {
	w.t.Helper()
	at, _, err := w.kubectl.resource(w.t.Context(), ref)
	if err != nil {
		w.t.Fatal(err)
	}
	u, err := at.Get(w.t.Context(), ref.Name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return u.Object
}

func (w *world) wantWrites(want int32, since string) {
	w.t.Helper()
	if got := w.writes.Swap(0); got != want {
		w.t.Errorf("%d writes %s, want %d", got, since, want)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func field(obj map[string]any, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(obj, path...)
	return v
}

func set(obj map[string]any, value any, path ...string) {
	if err := unstructured.SetNestedField(obj, value, path...); err != nil {
		panic(err)
	}
}
