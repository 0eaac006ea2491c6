// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"testing"
	"time"

	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/gate"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// TestZ24DependencyMadeAnew takes the place of the former: the binding that is
// there for others stays, and so do the members' objects.
func TestZ24DependencyMadeAnew(t *testing.T) {
	now := func() time.Time { return fixture.Start }
	h := pipelinetest.NewHub(pipelinetest.Options{Now: now})
	s := gate.New(h, now)
	key := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	put := func(value string) {
		h.Apply(key, func(obj map[string]any) { obj["data"] = map[string]any{"value": value} })
	}
	put("1")
	b := &propagation.Binding{Key: propagation.BindingOf(key), Labels: map[string]string{propagation.LabelLinked: "true"}}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings", UID: h.Live(key).UID}
	b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: "shop", Name: "nginx-deployment", Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}}}}
	if _, err := h.CommitBinding(t.Context(), nil, b); err != nil {
		t.Fatal(err)
	}
	policy := fixture.Policy("p").Policy().Key
	if err := deliver(t.Context(), s, key, policy); err != nil {
		t.Fatal(err)
	}
	before := h.LiveBinding(b.Key)
	h.Wrote = func(_ context.Context, w pipelinetest.Write) {
		if gone, ok := w.Old.(*propagation.Binding); ok && w.New == nil {
			t.Errorf("%s was deleted", gone.Key)
		}
	}
	h.Delete(key)
	put("2")
	if err := deliver(t.Context(), s, key, policy); err != nil {
		t.Fatal(err)
	}
	after := h.LiveBinding(b.Key)
	if after == nil || after.UID != before.UID || after.Spec.Resource.UID != h.Live(key).UID || after.ActedHash() != h.Live(key).Hash {
		t.Fatalf("the binding is %+v", after)
	}
	if len(after.Spec.RequiredBy) != 1 {
		t.Errorf("it is required by %v", after.Spec.RequiredBy)
	}
}
