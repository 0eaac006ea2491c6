// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/gate"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// A binding goes when its template is proven to be gone, whatever an event says.
func TestGateRemovesWithProofAlone(t *testing.T) {
	key := fixture.Deployment("nginx").Template().Key
	as := func(apiVersion, kind string) propagation.TemplateKey {
		k := key
		k.APIVersion, k.Kind = apiVersion, kind
		return k
	}
	deployments := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	for sentence, tc := range map[string]struct {
		about propagation.TemplateKey
		meet  func(h *pipelinetest.Hub)
		want  bool
	}{
		"the template is gone":                          {key, func(h *pipelinetest.Hub) { h.Delete(key) }, true},
		"Z33 a forged release of a template that lives": {key, nil, false},
		"Z1 it is named in a version nobody serves":     {as("apps/v9", "Deployment"), func(h *pipelinetest.Hub) { h.Serve(deployments, "v1") }, false},
		"Z1 its kind is spelled otherwise": {as("apps/v1", "deployment"), func(h *pipelinetest.Hub) {
			h.Serve(schema.GroupKind{Group: "apps", Kind: "deployment"})
		}, false},
		"Z1 its group is another": {as("example.com/v1", "Deployment"), func(h *pipelinetest.Hub) {
			h.Serve(schema.GroupKind{Group: "example.com", Kind: "Deployment"})
		}, false},
		"Z33 of a kind whose binding would have the same name": {as("apps/v1", "deployment"), nil, false},
		"Z14 its kind is not served any more":                  {key, func(h *pipelinetest.Hub) { h.Serve(deployments) }, false},
		"Z14 it is served in another version":                  {key, func(h *pipelinetest.Hub) { h.Serve(deployments, "v2") }, false},
		"the hub does not answer": {key, func(h *pipelinetest.Hub) {
			h.Ask = func(_ context.Context, r pipelinetest.Request) error {
				if r.About == key.String() {
					return errors.New("503")
				}
				return nil
			}
		}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			ctx := t.Context()
			h := pipelinetest.NewHub(pipelinetest.Options{Now: func() time.Time { return fixture.Start }})
			s := gate.New(h, func() time.Time { return fixture.Start })
			h.Apply(key, func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": int64(1)} })
			p := fixture.Policy("p").To("m1").Policy()
			h.PutPolicy(p.Key, p.Spec)
			if _, err := h.CommitClaim(ctx, h.Live(key), h.LivePolicy(p.Key).Claim(), ""); err != nil {
				t.Fatal(err)
			}
			if err := deliver(ctx, s, key, p.Key); err != nil {
				t.Fatal(err)
			}
			before := h.LiveBinding(propagation.BindingOf(key))
			if before == nil {
				t.Fatal("there is no binding")
			}
			if tc.meet != nil {
				tc.meet(h)
			}
			e, err := events.New("somebody", event.Event{}, events.TemplateReleased, events.Data{Template: &tc.about, Reason: "TemplateDeleted"})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Handle(ctx, e)
			after := h.LiveBinding(before.Key)
			if gone := after == nil; gone != tc.want {
				t.Errorf("the binding is gone: %t, want %t (%v)", gone, tc.want, err)
			}
			if after != nil && after.ResourceVersion != before.ResourceVersion {
				t.Errorf("it was written: %v", after)
			}
		})
	}
}
