// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/source/discovery"
)

// TestZ17AVersionThatBothServe is used where the member does not serve the one that
// the manifest is in: applied, known again, watched and deleted in it, and told in
// the words of the manifest.
func TestZ17AVersionThatBothServe(t *testing.T) {
	w := onFake(t)
	thing := []metav1.APIResource{{Name: "things", Kind: "Thing", Namespaced: true}}
	serve := func(version string) {
		w.api.mu.Lock()
		defer w.api.mu.Unlock()
		w.api.kinds["example.com/"+version] = thing
	}
	now := time.Now()
	w.kinds = discovery.New(w.ask, 0, func() time.Time { return now })
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	m := w.manifest(`{apiVersion: example.com/v1, kind: Thing, metadata: {name: a, namespace: %s}, spec: {size: 1}}`)
	of := work("x")
	serve("v1beta1")
	if _, err := bring(t.Context(), w.Client, of, m, applying.TakeOverNever); !errors.As(err, new(*NotServed)) {
		t.Fatalf("nobody says that the versions are alike: error %v", err)
	}
	w.source.alike = map[schema.GroupVersionKind][]string{gvk: {"v1alpha1", "v1beta1"}}
	if a := w.apply(of, m); field(a.Object, "apiVersion") != "example.com/v1" {
		t.Errorf("what was applied is told as %v", field(a.Object, "apiVersion"))
	}
	beta := refOf(m)
	beta.APIVersion = "example.com/v1beta1"
	if got := field(w.live(beta), "spec", "size"); got != int64(1) {
		t.Errorf("in v1beta1 the member has size %v", got)
	}
	w.writes.Store(0)
	w.apply(of, m)
	w.wantWrites(0, "when it was applied already")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	changes := make(chan Change, 10)
	go func() { _ = w.Watch(ctx, gvk, func(c Change) { changes <- c }) }()
	if c := <-changes; c.Ref != refOf(m) {
		t.Errorf("the watch begins with %v", c.Ref)
	}
	w.edit(beta, "somebody", func(obj map[string]any) { obj["spec"] = map[string]any{"size": int64(2)} })
	if c := <-changes; c.Ref != refOf(m) {
		t.Errorf("the watch tells of %v", c.Ref)
	}
	o, err := w.Observe(t.Context(), refOf(m))
	if err != nil || !drifted(of, m, o) {
		t.Errorf("the change is no drift (%v)", err)
	}
	w.apply(of, m)
	if got := field(w.live(beta), "spec", "size"); got != int64(1) {
		t.Errorf("after the drift the member has size %v", got)
	}
	if gone, err := drop(t.Context(), w.Client, refOf(m), "x"); !gone || err != nil {
		t.Errorf("deleted: %v, %v", gone, err)
	}
	serve("v1")
	now = now.Add(discovery.Again)
	if r, err := w.served(t.Context(), gvk); err != nil || r.Version != "v1" {
		t.Errorf("the member serves the version by now, used is %s (%v)", r.Version, err)
	}
}
