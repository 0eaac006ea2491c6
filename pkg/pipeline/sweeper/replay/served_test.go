// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/replay"
)

// serving is a hub that serves ConfigMaps, or does not.
type serving struct {
	*hubOf
	not bool
}

func (s *serving) Changes(ctx context.Context, gvk schema.GroupVersionKind, since string) (hub.Changes, error) {
	if s.not && gvk.Kind == "ConfigMap" {
		return hub.Changes{}, outcome.ErrNotServed
	}
	return s.hubOf.Changes(ctx, gvk, since)
}

// A policy that is made while its kind is not served finds nobody who can tell what its
// templates are. When the kind is served again all of them are announced, once, although
// none has changed.
func TestAKindThatIsServedAgainIsAnnouncedAsAWhole(t *testing.T) {
	h := &serving{hubOf: &hubOf{changes: map[string]hub.Changes{
		"": {Until: "9", Listed: true, All: []hub.Written{configMap(hub.Added, "shop", "a", "3", false)}}, "9": {Until: "9"},
	}}}
	m := &memory{all: map[string]string{"v1 ConfigMap": "9", "namespaces": "shop"}}
	var found []string
	publish := func(_ context.Context, out []event.Event) error {
		for _, e := range out {
			found = append(found, e.Subject())
		}
		return nil
	}
	r := replay.New(h, indexOf{}, m, &labelled{}, publish, time.Now)
	for _, tc := range []struct {
		look string
		not  bool
		want []string
	}{{"it is served", false, nil}, {"it is not", true, nil}, {"nor is it yet", true, nil}, {"it is again", false, []string{"ConfigMap/shop/a"}}, {"and stays so", false, nil}} {
		h.not, found = tc.not, nil
		if _, err := r.Find(t.Context()); err != nil {
			t.Fatalf("%s: %v", tc.look, err)
		}
		if !slices.Equal(found, tc.want) {
			t.Errorf("%s: announced %v, want %v", tc.look, found, tc.want)
		}
	}
}
