// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package detector_test

import (
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/pipeline/detector"
)

// Nobody's selector makes a template of a binding or a Work, and no event does: what marks
// them with a policy is not taken off, and neither the hub nor Redis is asked: there are none here.
func TestZ33OwnObjectsAreNoTemplates(t *testing.T) {
	stage := detector.New(nil, nil, nil, nil)
	for _, key := range []propagation.TemplateKey{
		{APIVersion: "work.karmada.io/v1alpha2", Kind: "ResourceBinding", Namespace: "shop", Name: "web-deployment"},
		{APIVersion: "work.karmada.io/v1alpha1", Kind: "Work", Namespace: "karmada-es-m1", Name: "web-deployment"},
		{APIVersion: "placement.kubernetes-fleet.io/v1", Kind: "ClusterResourceBinding", Name: "crp-1-m1"},
	} {
		touched, err := events.New("test", event.New(), events.TemplateTouched, events.Data{Template: &key})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := stage.Handle(t.Context(), touched); err != nil || len(out) > 0 {
			t.Errorf("%s: %v, %v", key, out, err)
		}
	}
}
