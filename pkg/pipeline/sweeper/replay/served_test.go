// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
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

// recorded are templates that Redis knows, a page each.
type recorded struct {
	indexOf
	pages []propagation.TemplateKey
	fails error
}

func (r recorded) Templates(_ context.Context, kind schema.GroupKind, cursor string, _ int) ([]propagation.TemplateKey, string, error) {
	i := len(cursor)
	if r.fails != nil || i == len(r.pages) || kind.Kind != "ConfigMap" {
		return nil, "", r.fails
	}
	return r.pages[i : i+1], cursor + "x", nil
}

// What was deleted while nobody could tell whether it exists is gone from a list, and
// Redis still knows it.
func TestWhatRedisKnowsAndAListDoesNotHaveIsAnnouncedAsDeleted(t *testing.T) {
	key := func(name string) propagation.TemplateKey { return configMap("", "shop", name, "", false).Key }
	listed := hub.Changes{Until: "9", Listed: true, All: []hub.Written{configMap(hub.Updated, "shop", "a", "3", false)}}
	for name, tc := range map[string]struct {
		positions map[string]string
		knows     []propagation.TemplateKey
		fails     error
		want      []string
		wantAt    string
	}{
		"a list": {
			knows:  []propagation.TemplateKey{key("gone"), key("a"), key("gone too")},
			want:   []string{"dev.knative.apiserver.ref.delete ConfigMap/shop/gone", "dev.knative.apiserver.ref.delete ConfigMap/shop/gone too", "dev.knative.apiserver.ref.update ConfigMap/shop/a"},
			wantAt: "9",
		},
		"changes since a position, which tell of deletions": {
			positions: map[string]string{"v1 ConfigMap": "5", "namespaces": "shop"}, knows: []propagation.TemplateKey{key("gone")}, wantAt: "9",
		},
		"a list, and Redis is away: it is asked for again": {fails: errors.New("no Redis")},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hubOf{changes: map[string]hub.Changes{"": listed, "5": {Until: "9"}}}
			m := &memory{all: map[string]string{}}
			maps.Copy(m.all, tc.positions)
			var got []string
			publish := func(_ context.Context, out []event.Event) error {
				for _, e := range out {
					got = append(got, e.Type()+" "+e.Subject())
				}
				return nil
			}
			r := replay.New(h, recorded{pages: tc.knows, fails: tc.fails}, m, &labelled{}, publish, time.Now)
			if _, err := r.Find(t.Context()); !errors.Is(err, tc.fails) {
				t.Fatal(err)
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("announced %v, want %v", got, tc.want)
			}
			if at := m.all["v1 ConfigMap"]; at != tc.wantAt {
				t.Errorf("the position is %q, want %q", at, tc.wantAt)
			}
		})
	}
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
