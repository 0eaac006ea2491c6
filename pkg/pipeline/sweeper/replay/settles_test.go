// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/pipeline/sweeper/replay"
	"sluice.dev/pkg/redis/claims"
)

// at is a change of which it is known when it happened.
func at(when time.Time, w hub.Written) hub.Written {
	w.At = when
	return w
}

// What changed a moment ago is on its way, and a source has told of it. A minute later
// it is through, or something went wrong.
func TestWhatChangedAMomentAgoIsLeftForTheNextLook(t *testing.T) {
	before, moment, ahead := noon.Add(-time.Minute), noon.Add(-9*time.Second), noon.Add(time.Second)
	a, c := at(before, configMap(hub.Updated, "shop", "a", "6", false)), at(before, configMap(hub.Updated, "shop", "c", "8", false))
	b, gone := configMap(hub.Added, "shop", "b", "7", false), configMap(hub.Deleted, "shop", "gone", "9", false)
	young := []hub.Written{a, at(moment, b), c, gone}
	all := []string{"ConfigMap/shop/a", "ConfigMap/shop/b", "ConfigMap/shop/c", "ConfigMap/shop/gone"}
	started := func(ago time.Duration) string { return noon.Add(-ago).Format(time.RFC3339Nano) }
	for name, tc := range map[string]struct {
		changes    []hub.Written
		listed     bool
		started    string
		restart    int
		namespaces string
		complete   string
		want       []string
		wantAt     string
		wantNext   []string
	}{
		"it is announced then if something still follows": {
			changes: young, want: all[:1], wantAt: "6", wantNext: all[1:],
		},
		"it is not announced where nothing follows any more": {
			changes: young, complete: "b", want: all[:1], wantAt: "6", wantNext: all[2:],
		},
		"where nothing stands before it, the next look begins where this one did": {
			changes: young[1:], wantAt: "5", wantNext: all[1:],
		},
		"an object that changed before, too, is announced each time": {
			changes: []hub.Written{at(before, configMap(hub.Added, "shop", "b", "6", false)), at(moment, b)}, want: all[1:2], wantAt: "6", wantNext: all[1:2],
		},
		"what is ours stands before it": {
			changes: []hub.Written{at(before, configMap(hub.Updated, "shop", "a", "6", true)), at(moment, b)}, wantAt: "6", wantNext: all[1:2],
		},
		"after ten seconds it is announced": {
			changes: []hub.Written{a, at(noon.Add(-10*time.Second), b)}, want: all[:2], wantAt: "12",
		},
		"of an unknown time it is announced at once": {
			changes: []hub.Written{a, b}, want: all[:2], wantAt: "12",
		},
		"a clock behind the hub's keeps nothing back": {
			changes: []hub.Written{a, at(ahead, b), c, gone}, want: all, wantAt: "12",
		},
		"a look while sources start announces it at once": {
			changes: young, started: started(4 * time.Second), want: all, wantAt: "12",
		},
		"a look after sources started, when they may have missed it": {
			changes: young, started: started(29 * time.Second), want: all, wantAt: "12",
		},
		"a look after sources started long ago": {
			changes: young, started: started(31 * time.Second), want: all[:1], wantAt: "6", wantNext: all[1:],
		},
		"a look that has sources start": {
			changes: young, restart: 1, want: all, wantAt: "12",
		},
		"what was listed is announced at once": {
			changes: young, listed: true, want: all, wantAt: "12",
		},
		"what was written by ourselves keeps nothing back": {
			changes: []hub.Written{at(moment, configMap(hub.Updated, "shop", "x", "6", true)), c}, want: all[2:3], wantAt: "12",
		},
		"what happened where no templates are keeps nothing back": {
			changes: []hub.Written{at(moment, configMap(hub.Updated, "kube-system", "x", "6", false)), c}, want: all[2:3], wantAt: "12",
		},
		"what was there when its namespace became one of templates is announced at once, and found again": {
			changes: young, namespaces: "bank", want: append(all[:1:1], "ConfigMap/shop/there"), wantAt: "6", wantNext: all[1:],
		},
	} {
		t.Run(name, func(t *testing.T) {
			there := at(moment, configMap(hub.Updated, "shop", "there", "2", false))
			h := &hubOf{complete: tc.complete, changes: map[string]hub.Changes{
				"": {Until: "12", Listed: true, All: []hub.Written{there}}, "5": {Until: "12", All: tc.changes, Listed: tc.listed},
				"6": {Until: "12", All: tc.changes[1:]}, "12": {Until: "12"},
			}}
			m := &memory{all: map[string]string{"v1 ConfigMap": "5", "namespaces": "shop", "sources": tc.started}}
			if tc.namespaces != "" {
				m.all["namespaces"] = tc.namespaces
			}
			now, sources := noon, restarting(tc.restart)
			var got []string
			publish := func(_ context.Context, out []event.Event) error {
				for _, e := range out {
					got = append(got, e.Subject())
				}
				return nil
			}
			index := indexOf{candidates: []claims.Candidate{{Policy: holder().Key, Version: 2}}}
			r := replay.New(h, index, m, &sources, publish, func() time.Time { return now })
			for _, look := range []struct {
				want   []string
				wantAt string
			}{{tc.want, tc.wantAt}, {tc.wantNext, "12"}} {
				got = nil
				if _, err := r.Find(t.Context()); err != nil {
					t.Fatal(err)
				}
				slices.Sort(got)
				if d := cmp.Diff(look.want, got); d != "" {
					t.Errorf("announced at %s (-want +got)\n%s", now, d)
				}
				if at := m.all["v1 ConfigMap"]; at != look.wantAt {
					t.Errorf("the position is %q at %s, want %q", at, now, look.wantAt)
				}
				now = now.Add(time.Minute)
			}
		})
	}
}

// written is a hub on which one object of each kind that is no template's was written now.
type written struct{ *hubOf }

func (written) Changes(_ context.Context, gvk schema.GroupVersionKind, _ string) (hub.Changes, error) {
	if gvk.Kind == "ConfigMap" {
		return hub.Changes{Until: "9"}, nil
	}
	key := propagation.TemplateKey{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: "x"}
	return hub.Changes{Until: "9", All: []hub.Written{{At: noon, Change: hub.Change{Type: hub.Updated, Version: "7", Key: key}}}}, nil
}

// Of policies nobody tells whether anything follows from them: the next look would
// announce them all the same. Of what people write on bindings and Works no source tells.
func TestWhatIsNoTemplateIsAnnouncedAtOnce(t *testing.T) {
	m := &memory{all: map[string]string{"v1 ConfigMap": "9", "namespaces": "shop"}}
	announced := 0
	publish := func(_ context.Context, out []event.Event) error { announced += len(out); return nil }
	r := replay.New(written{&hubOf{}}, indexOf{}, m, &labelled{}, publish, func() time.Time { return noon })
	_, err := r.Find(t.Context())
	if want := len(hub.PolicyKinds()) + len(hub.OwnKinds()); err != nil || announced != want {
		t.Errorf("announced %d, want %d; %v", announced, want, err)
	}
}
