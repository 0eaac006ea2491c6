// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/webhookserver"
)

func TestTheHubIsOnThisMachine(t *testing.T) {
	for host, want := range map[string]bool{
		"https://127.0.0.1:6443": true, "https://localhost:6443": true, "https://[::1]:6443": true, "127.0.0.1:8080": true,
		"https://10.0.0.1:6443": false, "https://hub.example.org": false, "https://localhost.example.org": false, "https://0.0.0.0:1": false, ":": false,
	} {
		if got := onThisMachine(&rest.Config{Host: host}); got != want {
			t.Errorf("%s: got %v, want %v", host, got, want)
		}
	}
}

func TestWithoutTheWebhookNothingIsAskedOfTheHub(t *testing.T) {
	var out strings.Builder
	p := &pipeline{}
	if err := p.admit(t.Context(), nil, &rest.Config{Host: "https://127.0.0.1:1"}, Options{Out: &out}); err != nil || out.Len() > 0 {
		t.Errorf("--webhook=false: %v, %q", err, &out)
	}
	err := p.admit(t.Context(), nil, &rest.Config{Host: "https://hub.example.org"}, Options{Webhook: true, Out: &out})
	if err != nil || !strings.Contains(out.String(), "the hub is on another machine") {
		t.Errorf("a hub elsewhere: %v, %q", err, &out)
	}
}

// clerk is somebody who writes policies to a real hub.
type clerk struct {
	t    *testing.T
	cfg  *rest.Config
	api  dynamic.Interface
	hub  *hub.Hub
	name string // of the test's namespace, and of all else that is its own
}

var (
	policies        = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies"}
	clusterPolicies = schema.GroupVersionResource{Group: "policy.karmada.io", Version: "v1alpha1", Resource: "clusterpropagationpolicies"}
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	secrets         = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	configurations  = []schema.GroupVersionResource{
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	}
)

func newClerk(t *testing.T) *clerk {
	t.Helper()
	path := os.Getenv("SLUICE_HUB_KUBECONFIG")
	if path == "" {
		t.Skip("no hub: run `make lab-up`, and name its kubeconfig in SLUICE_HUB_KUBECONFIG")
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	must(t, err)
	cfg.QPS, cfg.WarningHandler = -1, rest.NoWarnings{}
	api, err := dynamic.NewForConfig(cfg)
	must(t, err)
	h, err := hub.Connect(cfg)
	must(t, err)
	installCRDs(t, api)
	ns, err := api.Resource(namespaces).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "webhook-test-"},
	}}, metav1.CreateOptions{})
	must(t, err)
	c := &clerk{t: t, cfg: cfg, api: api, hub: h, name: ns.GetName()}
	t.Cleanup(c.leave)
	return c
}

// leave takes away what the test made.
func (c *clerk) leave() {
	_ = c.api.Resource(namespaces).Delete(context.Background(), c.name, metav1.DeleteOptions{})
	for _, r := range configurations {
		_ = c.api.Resource(r).Delete(context.Background(), c.name, metav1.DeleteOptions{})
	}
	_ = c.api.Resource(secrets).Namespace(propagation.SystemNamespace).Delete(context.Background(), c.name+"-webhook", metav1.DeleteOptions{})
}

func installCRDs(t *testing.T, api dynamic.Interface) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "300-crds", "policy*.yaml"))
	must(t, err)
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		must(t, err)
		o := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal(raw, &o.Object))
		_, err = api.Resource(crds).Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "test", Force: true})
		must(t, err)
	}
}

// serve starts a webhook that is asked about this test's policies alone, and
// returns when it is. What it returns ends it.
func (c *clerk) serve() (end func()) {
	c.t.Helper()
	a, err := newAdmission(c.hub, c.cfg, c.name)
	must(c.t, err)
	for _, m := range a.manifests {
		webhooks, _, err := unstructured.NestedSlice(m.Object, "webhooks")
		must(c.t, err)
		webhooks[0].(map[string]any)["objectSelector"] = map[string]any{"matchLabels": map[string]any{"test": c.name}}
		must(c.t, unstructured.SetNestedSlice(m.Object, webhooks, "webhooks"))
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	l, err := a.listen(ctx)
	must(c.t, err)
	ended := make(chan error, 1)
	go func() { ended <- webhookserver.Serve(ctx, l, a.handler, a.keeper.Certificate) }()
	must(c.t, a.register(ctx, l.Addr().String()))

	began := time.Now()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !c.asked() {
		if time.Since(began) > 20*time.Second {
			c.t.Fatal("the hub does not ask the webhook")
		}
		<-tick.C
	}
	c.t.Logf("the hub asks the webhook after %v", time.Since(began))
	return func() {
		cancel()
		must(c.t, <-ended)
	}
}

// asked tells whether a policy that nobody stores would get its id, and one
// that is refused would be.
func (c *clerk) asked() bool {
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	o, err := c.api.Resource(policies).Namespace(c.name).Create(c.t.Context(), c.policy("dry", "", ""), dry)
	must(c.t, err)
	_, refused := c.api.Resource(policies).Namespace(c.name).Create(c.t.Context(), c.policy("dry", "other", ""), dry)
	return o.GetLabels()[propagation.ClaimLabelNamespaced] != "" && apierrors.IsInvalid(refused)
}

// policy is one that selects a Deployment nginx.
func (c *clerk) policy(name, namespace, preemption string) *unstructured.Unstructured {
	selector := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}
	spec := map[string]any{"resourceSelectors": []any{selector}}
	if namespace != "" {
		selector["namespace"] = namespace
	}
	if preemption != "" {
		spec["preemption"] = preemption
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "spec": spec,
		"metadata": map[string]any{"name": name, "labels": map[string]any{"test": c.name}},
	}}
}

func (c *clerk) makes(o *unstructured.Unstructured) *unstructured.Unstructured {
	c.t.Helper()
	o, err := c.api.Resource(policies).Namespace(c.name).Create(c.t.Context(), o, metav1.CreateOptions{})
	must(c.t, err)
	return o
}

func (c *clerk) patches(name, patch string) (*unstructured.Unstructured, error) {
	return c.api.Resource(policies).Namespace(c.name).Patch(c.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
}

func TestARealHubAsksTheWebhookWhileItIsThere(t *testing.T) {
	c := newClerk(t)
	end := c.serve()
	id := propagation.ClaimLabelNamespaced

	p := c.makes(c.policy("p", "", ""))
	selectors, _, _ := unstructured.NestedSlice(p.Object, "spec", "resourceSelectors")
	if ns := selectors[0].(map[string]any)["namespace"]; p.GetLabels()[id] == "" || p.GetLabels()[id] == string(p.GetUID()) || ns != c.name {
		t.Errorf("P40: labels %v, namespace %v, want a new id and %s", p.GetLabels(), ns, c.name)
	}
	updated, err := c.patches("p", `{"metadata":{"labels":{"`+id+`":null}}}`)
	must(t, err)
	if updated.GetLabels()[id] != p.GetLabels()[id] {
		t.Errorf("P40: the id was %s and is %s", p.GetLabels()[id], updated.GetLabels()[id])
	}
	if _, err := c.patches("p", `{"metadata":{"labels":{"`+id+`":"forged"}}}`); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "is immutable") {
		t.Errorf("P40: another id is answered with %v", err)
	}
	c.wantClusterPolicy("", "Deployment", "the empty namespace may cause unexpected resources preemption")
	c.wantClusterPolicy(c.name, "Deployment", "")
	c.wantClusterPolicy(c.name, "Unknown", "the hub serves no kind Unknown of apps/v1")

	end()
	began := time.Now()
	unseen := c.makes(c.policy("unseen", "", ""))
	if took := time.Since(began); took > 2*time.Second { // two calls would take 6 s if anybody waited
		t.Errorf("the webhook is gone, and a policy took %v", took)
	}
	stored, err := c.hub.Policy(t.Context(), propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: c.name, Name: "unseen"})
	must(t, err)
	if unseen.GetLabels()[id] != "" || stored.ID != string(unseen.GetUID()) {
		t.Errorf("labels %v, id %q, want none and the UID", unseen.GetLabels(), stored.ID)
	}

	before := c.versions()
	defer c.serve()()
	if diff := cmp.Diff(before, c.versions()); diff != "" {
		t.Errorf("a restart changes what API servers are told: %s", diff)
	}
	updated, err = c.patches("unseen", `{"spec":{"priority":1}}`)
	must(t, err)
	if updated.GetLabels()[id] != string(unseen.GetUID()) {
		t.Errorf("labels %v, want the id that it always had, its UID", updated.GetLabels())
	}
}

// versions are those of what the webhook writes.
func (c *clerk) versions() []string {
	c.t.Helper()
	s, err := c.api.Resource(secrets).Namespace(propagation.SystemNamespace).Get(c.t.Context(), c.name+"-webhook", metav1.GetOptions{})
	must(c.t, err)
	versions := []string{s.GetResourceVersion()}
	for _, r := range configurations {
		o, err := c.api.Resource(r).Get(c.t.Context(), c.name, metav1.GetOptions{})
		must(c.t, err)
		versions = append(versions, o.GetResourceVersion())
	}
	return versions
}

// wantClusterPolicy sends a cluster policy that preempts. It is refused with
// the words, or accepted where there are none.
func (c *clerk) wantClusterPolicy(namespace, kind, words string) {
	c.t.Helper()
	o := c.policy(c.name, namespace, "Always")
	o.SetKind("ClusterPropagationPolicy")
	selectors, _, _ := unstructured.NestedSlice(o.Object, "spec", "resourceSelectors")
	selectors[0].(map[string]any)["kind"] = kind
	must(c.t, unstructured.SetNestedSlice(o.Object, selectors, "spec", "resourceSelectors"))
	_, err := c.api.Resource(clusterPolicies).Create(c.t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if words == "" && err != nil || words != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), words)) {
		c.t.Errorf("P35: %s in %q: got %v, want %q", kind, namespace, err, words)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
