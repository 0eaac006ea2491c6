// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest_test

import (
	"slices"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/pipeline/placer"
	"sluice.dev/test/pipelinetest"
)

func TestAnEventTakesNoOthersWay(t *testing.T) {
	routes, err := pipelinetest.LoadRoutes()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		namespace string
		want      bool
	}{{"sluice-system", false}, {"shop", true}, {"sluice-system", false}} {
		e := event.New()
		e.SetType(events.ResourceUpdated)
		e.SetExtension(events.ExtAPIVersion, "v1")
		e.SetExtension(events.ExtKind, "ConfigMap")
		e.SetExtension(events.ExtNamespace, tc.namespace)
		e.SetExtension(events.ExtName, "settings")
		got := slices.ContainsFunc(routes.For(e), func(r pipelinetest.Route) bool { return r.Stage == placer.Name })
		if got != tc.want {
			t.Errorf("a ConfigMap in %s is told to the placer: %t, want %t", tc.namespace, got, tc.want)
		}
	}
}
