// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package renderer_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/renderer"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// scene is a hub with one binding of a template, mostly a Secret, to m1 and m2, and its
// renderer.
type scene struct {
	t      *testing.T
	hub    *pipelinetest.Hub
	stage  *renderer.Stage
	key    propagation.TemplateKey
	bound  *propagation.Binding
	writes []string
}

func secretBound(t *testing.T) *scene {
	t.Helper()
	return templateBound(t, propagation.TemplateKey{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "token"})
}

func templateBound(t *testing.T, key propagation.TemplateKey) *scene {
	t.Helper()
	now := func() time.Time { return fixture.Start }
	r := &scene{t: t, hub: pipelinetest.NewHub(pipelinetest.Options{Now: now}), key: key}
	r.join("m1", "m2")
	r.stage = renderer.New(r.hub, now)
	r.let("hunter1")
	r.hub.Wrote = func(_ context.Context, w pipelinetest.Write) { r.writes = append(r.writes, w.String()) }
	return r
}

// join joins members.
func (r *scene) join(members ...string) {
	r.t.Helper()
	for _, c := range members {
		r.hub.Join(c)
		if err := r.hub.EnsureNamespace(r.t.Context(), propagation.WorkNamespace(c)); err != nil {
			r.t.Fatal(err)
		}
	}
}

// let lets that content of the template through.
func (r *scene) let(content string) {
	r.t.Helper()
	obj := propagation.Content(map[string]any{
		"apiVersion": r.key.APIVersion, "kind": r.key.Kind, "metadata": map[string]any{"namespace": r.key.Namespace, "name": r.key.Name}, "data": map[string]any{"k": content},
	})
	hash := propagation.HashContent(obj)
	next := &propagation.Binding{Key: propagation.BindingOf(r.key)}
	if r.bound != nil {
		*next = *r.bound
	}
	next.Annotations = map[string]string{propagation.AnnotationContentHash: hash, propagation.AnnotationRevision: propagation.RevisionName(next.Key, hash)}
	next.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: r.key.APIVersion, Kind: r.key.Kind, Namespace: r.key.Namespace, Name: r.key.Name, UID: "1"}
	next.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1"}, {Name: "m2"}}
	next.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1", "m2"}}}
	var err error
	if r.bound, err = r.hub.CommitBinding(r.t.Context(), r.bound, next); err != nil {
		r.t.Fatal(err)
	}
	rev := &propagation.Revision{Namespace: r.key.Namespace, Name: r.bound.Revision(), Binding: r.bound.Key, Hash: hash, Content: obj}
	if err := r.hub.CreateRevision(r.t.Context(), r.bound, rev); err != nil {
		r.t.Fatal(err)
	}
}

// render has the binding rendered, and returns the events.
func (r *scene) render() []event.Event {
	r.t.Helper()
	out, err := r.handle()
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Sort(r.writes)
	return out
}

func (r *scene) handle() ([]event.Event, error) {
	r.t.Helper()
	e, err := events.New("test", event.New(), events.BindingScheduled, events.Data{Template: &r.key, Binding: &r.bound.Key})
	if err != nil {
		r.t.Fatal(err)
	}
	r.writes = nil
	return r.stage.Handle(r.t.Context(), e)
}

func (r *scene) work(cluster string) *propagation.Work {
	return r.hub.LiveWork(propagation.WorkKey{Cluster: cluster, Name: propagation.WorkName(r.bound.Key)})
}

// wants checks what the Works carry, and what is kept beside them.
func (r *scene) wants(content map[string]string, writes ...string) {
	r.t.Helper()
	for cluster, want := range content {
		w := r.work(cluster)
		all, err := json.Marshal([]any{w.Spec, w.Annotations, w.Labels})
		if err != nil || strings.Contains(string(all), "hunter") {
			r.t.Errorf("the Work for %s holds content: %s", cluster, all)
		}
		whole, ok := propagation.Open(pipelinetest.Manifest(w), r.hub.LiveContents(w.Key))
		if !ok {
			r.t.Errorf("what is kept does not open the Work for %s", cluster)
			continue
		}
		data, _ := whole["data"].(map[string]any)
		if data["k"] != want {
			r.t.Errorf("%s gets %v, want %s", cluster, data["k"], want)
		}
	}
	slices.Sort(writes)
	if d := cmp.Diff(writes, r.writes); d != "" {
		r.t.Errorf("writes (-want +got)\n%s", d)
	}
}

func (r *scene) keys() (m1, m2 string) {
	return r.work("m1").Key.String(), r.work("m2").Key.String()
}

func TestZ39ContentOfASecretIsKeptBesideItsWorks(t *testing.T) {
	r := secretBound(t)
	r.render()
	m1, m2 := r.keys()
	r.wants(map[string]string{"m1": "hunter1", "m2": "hunter1"}, "create "+m1, "create "+m2, "create contents of "+m1, "create contents of "+m2)

	r.render() // again, which writes nothing
	r.wants(map[string]string{"m1": "hunter1", "m2": "hunter1"})

	r.let("hunter2")
	r.render()
	r.wants(map[string]string{"m1": "hunter2", "m2": "hunter2"}, "update "+m1, "update "+m2, "update contents of "+m1, "update contents of "+m2)
}

func TestZ39AnOverrideOfASecretIsKeptForItsMemberAlone(t *testing.T) {
	r := secretBound(t)
	r.render()
	m1, _ := r.keys()
	r.hub.PutOverride(propagation.Override{Key: propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "shop", Name: "over"}, Spec: policyv1alpha1.OverrideSpec{
		OverrideRules: []policyv1alpha1.RuleWithCluster{{
			TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}},
			Overriders: policyv1alpha1.Overriders{Plaintext: []policyv1alpha1.PlaintextOverrider{{
				Path: "/data/k", Operator: policyv1alpha1.OverriderOpReplace, Value: apiextensionsv1.JSON{Raw: []byte(`"hunter-m1"`)},
			}}},
		}},
	}})
	r.render()
	r.wants(map[string]string{"m1": "hunter-m1", "m2": "hunter1"}, "update "+m1, "update contents of "+m1)
}

func TestZ39WhatIsKeptAndDeletedByHandIsPutBack(t *testing.T) {
	r := secretBound(t)
	r.render()
	m1, _ := r.keys()
	if !r.hub.RemoveContents(r.work("m1").Key) {
		t.Fatal("nothing was kept")
	}
	out := r.render()
	r.wants(map[string]string{"m1": "hunter1", "m2": "hunter1"}, "create contents of "+m1)
	if len(out) != 1 || out[0].Extensions()[events.ExtClusters] != ",m1,m2," {
		t.Errorf("%d events, want one for both members", len(out))
	}
}

// A Work of before carries the content itself: it is written once, and says of its
// manifest what it said before, so that no member is.
func TestZ39AWorkOfBeforeIsSealedOnce(t *testing.T) {
	r := secretBound(t)
	r.render()
	w := r.work("m1")
	whole, ok := propagation.Open(pipelinetest.Manifest(w), r.hub.LiveContents(w.Key))
	if !ok {
		t.Fatal("not kept")
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	before := *w
	before.Spec.Workload.Manifests = []workv1alpha1.Manifest{{}}
	before.Spec.Workload.Manifests[0].Raw = raw
	if _, err := r.hub.CommitWork(t.Context(), w, &before); err != nil {
		t.Fatal(err)
	}
	r.hub.RemoveContents(w.Key)
	r.render()
	m1, _ := r.keys()
	r.wants(map[string]string{"m1": "hunter1", "m2": "hunter1"}, "create contents of "+m1, "update "+m1)
	if propagation.ManifestHash(pipelinetest.Manifest(r.work("m1"))) != propagation.HashJSON(whole) {
		t.Error("the hash of the manifest is another one")
	}
}
