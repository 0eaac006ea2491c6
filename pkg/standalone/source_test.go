// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"testing"

	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/propagation"
)

// What an API server tells is none of Sluice's own, or the detector would take a change
// by somebody for one that a sweep has found.
func TestWhatAnAPIServerTells(t *testing.T) {
	settings := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	for what, tc := range map[string]struct {
		eventType, cluster string
		single             bool
	}{
		"somebody made an object on the hub": {events.ResourceAdded, "", true},
		"an object on the hub changed":       {events.ResourceUpdated, "", false},
		"an object came to a member":         {events.ResourceAdded, "m1", false},
	} {
		e, err := told(tc.eventType, events.Object{TemplateKey: settings, Version: "1", Cluster: tc.cluster})
		if err != nil {
			t.Fatal(err)
		}
		if events.Own(e) || events.Bulk(e) || events.Single(e) != tc.single {
			t.Errorf("%s: own %t, in bulk %t, single %t; want none of the first two, and %t", what, events.Own(e), events.Bulk(e), events.Single(e), tc.single)
		}
	}
}
