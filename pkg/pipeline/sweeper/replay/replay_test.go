// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	events "sluice.dev/apis/events/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/kinds"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper"
	"sluice.dev/pkg/pipeline/sweeper/replay"
	"sluice.dev/pkg/redis/claims"
)

var errDown = errors.New("the broker is down")

// hubOf is a hub of ConfigMaps: what changed since each version.
type hubOf struct {
	sweeper.Hub
	mu      sync.Mutex
	changes map[string]hub.Changes
	// complete is the name of a template from which nothing follows any more.
	complete string
	// placements that there are.
	placements []*placementv1.ClusterResourcePlacement
	// selects is the kind that the policy selects; empty: ConfigMap.
	selects string
}

func (h *hubOf) Kinds(context.Context, *propagation.Binding) (kinds.Table, error) {
	return kinds.Table{}, nil
}

func (h *hubOf) Features(context.Context) (propagation.Features, error) {
	return propagation.Features{}, nil
}

func (h *hubOf) Version(context.Context) (uint64, error) { return 1, nil }

func (h *hubOf) Placements(context.Context) ([]*placementv1.ClusterResourcePlacement, error) {
	return h.placements, nil
}

func (h *hubOf) KindsInNamespaces(context.Context) ([]schema.GroupVersionKind, error) {
	return nil, nil
}

func (h *hubOf) Policy(context.Context, propagation.PolicyKey) (*propagation.Policy, error) {
	return holder(), nil
}

// holder holds the template that is complete.
func holder() *propagation.Policy {
	return &propagation.Policy{
		Key: propagation.PolicyKey{Scope: propagation.Cluster, Name: "p"}, ID: "id", ResourceVersion: "2",
		Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "ConfigMap"}}},
	}
}

// indexOf is an index of the policies that select a template.
type indexOf struct {
	sweeper.Index
	candidates []claims.Candidate
}

func (i indexOf) Look(context.Context, propagation.TemplateKey) (claims.View, error) {
	return claims.View{Candidates: i.candidates}, nil
}
func (indexOf) WentBack(context.Context, string) error { return nil }
func (indexOf) Templates(context.Context, schema.GroupKind, string, int) ([]propagation.TemplateKey, string, error) {
	return nil, "", nil
}

// Binding is that of the template that is complete: the others have none yet.
func (h *hubOf) Binding(_ context.Context, key propagation.BindingKey) (*propagation.Binding, error) {
	b, works, t := propagatedTo("m1", h.complete)
	if key != b.Key {
		return nil, outcome.ErrGone
	}
	b.Status = reporting.Summarize(b, works, time.Unix(0, 0))
	b.Spec.Resource.UID = t.UID
	return b, nil
}

func (h *hubOf) WorksOf(context.Context, propagation.BindingKey) ([]*propagation.Work, error) {
	_, works, _ := propagatedTo("m1", h.complete)
	return works, nil
}

func (h *hubOf) Template(context.Context, propagation.TemplateKey) (*propagation.Template, error) {
	_, _, t := propagatedTo("m1", h.complete)
	return t, nil
}

// propagatedTo is a ConfigMap that a member has, its binding and its Work.
func propagatedTo(cluster, name string) (*propagation.Binding, []*propagation.Work, *propagation.Template) {
	t := &propagation.Template{
		Key: configMap(hub.Added, "shop", name, "1", false).Key, UID: "u", Hash: "h",
		Claim: propagation.Claim{Policy: propagation.PolicyKey{Scope: propagation.Cluster, Name: "p"}, ID: "id"},
	}
	b := &propagation.Binding{
		Key: propagation.BindingOf(t.Key), Labels: map[string]string{propagation.ClaimLabelCluster: "id"},
		Annotations: map[string]string{propagation.ClaimClusterName: "p", propagation.AnnotationContentHash: "h"},
	}
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: cluster}}
	w := &propagation.Work{Key: propagation.WorkKey{Cluster: cluster, Name: propagation.WorkName(b.Key)}}
	w.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.ConditionApplied, Status: metav1.ConditionTrue}}
	return b, []*propagation.Work{w}, t
}

func (h *hubOf) Policies(context.Context) ([]*propagation.Policy, error) {
	p := holder()
	if h.selects != "" {
		p.Spec.ResourceSelectors[0].Kind = h.selects
	}
	return []*propagation.Policy{p}, nil
}

func (h *hubOf) Changes(_ context.Context, gvk schema.GroupVersionKind, since string) (hub.Changes, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if gvk.Kind != "ConfigMap" {
		return hub.Changes{Until: "1"}, nil
	}
	c := h.changes[since]
	c.All = slices.Clone(c.All) // the caller's own
	return c, nil
}

func (h *hubOf) Ours(context.Context, propagation.TemplateKey) (bool, error) { return false, nil }

func (h *hubOf) Namespaces(context.Context, string) ([]string, error) { return []string{"shop"}, nil }

type memory struct {
	mu  sync.Mutex
	all map[string]string
}

func (m *memory) Load(context.Context) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.all), nil
}

func (m *memory) Save(_ context.Context, name, position string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[name] = position
	return nil
}

func (m *memory) Raise(ctx context.Context, name string, to uint64) error {
	return m.Save(ctx, name, strconv.FormatUint(to, 10))
}
func (m *memory) Note(ctx context.Context, what string) error        { return m.Save(ctx, what, "noted") }
func (m *memory) Noted(_ context.Context, what string) (bool, error) { return m.all[what] != "", nil }
func (m *memory) Forget(ctx context.Context, what string) error      { return m.Save(ctx, what, "") }

// labelled are sources in namespaces with a label.
type labelled struct {
	kinds []schema.GroupVersionKind
	keep  bool
}

func (l *labelled) Follow(_ context.Context, kinds []schema.GroupVersionKind, keep bool) (string, bool, error) {
	l.kinds, l.keep = kinds, keep
	return "sluice.dev/templates=true", false, nil
}

func configMap(what hub.ChangeType, namespace, name, version string, ours bool) hub.Written {
	return hub.Written{Ours: ours, Change: hub.Change{
		Type: what, Version: version, Key: propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: name},
	}}
}

func TestWhatWasMissedIsAnnounced(t *testing.T) {
	everything := hub.Changes{Until: "9", Listed: true, All: []hub.Written{
		configMap(hub.Updated, "shop", "a", "3", true), configMap(hub.Updated, "kube-system", "b", "4", false),
	}}
	since := hub.Changes{Until: "9", All: []hub.Written{
		configMap(hub.Added, "shop", "a", "6", false), configMap(hub.Updated, "shop", "a", "7", true),
		configMap(hub.Deleted, "shop", "b", "8", false), configMap(hub.Added, "shop", "c", "8", false), configMap(hub.Updated, "shop", "c", "9", false),
	}}
	tests := map[string]struct {
		positions map[string]string
		unknown   bool
		broken    bool
		complete  string
		released  bool
		want      []string
		wantAt    string
	}{
		"of a kind never asked for, all objects in namespaces of templates": {
			want: []string{"dev.knative.apiserver.ref.update ConfigMap/shop/a"}, wantAt: "9",
		},
		"the last of what others did to each object, deletions too": {
			positions: map[string]string{"v1 ConfigMap": "5", "namespaces": "shop"},
			want: []string{
				"dev.knative.apiserver.ref.add ConfigMap/shop/a",
				"dev.knative.apiserver.ref.delete ConfigMap/shop/b",
				"dev.knative.apiserver.ref.update ConfigMap/shop/c",
			}, wantAt: "9",
		},
		"nothing of what members have as it is, and is reported": {
			positions: map[string]string{"v1 ConfigMap": "5", "namespaces": "shop"}, complete: "c",
			want: []string{
				"dev.knative.apiserver.ref.add ConfigMap/shop/a",
				"dev.knative.apiserver.ref.delete ConfigMap/shop/b",
			}, wantAt: "9",
		},
		"what no policy selects any more, though members have it as it is": {
			positions: map[string]string{"v1 ConfigMap": "5", "namespaces": "shop"}, complete: "c", released: true,
			want: []string{
				"dev.knative.apiserver.ref.add ConfigMap/shop/a",
				"dev.knative.apiserver.ref.delete ConfigMap/shop/b",
				"dev.knative.apiserver.ref.update ConfigMap/shop/c",
			}, wantAt: "9",
		},
		"a deletion, whatever was there before": {
			positions: map[string]string{"v1 ConfigMap": "5", "namespaces": "shop"}, complete: "b",
			want: []string{
				"dev.knative.apiserver.ref.add ConfigMap/shop/a",
				"dev.knative.apiserver.ref.delete ConfigMap/shop/b",
				"dev.knative.apiserver.ref.update ConfigMap/shop/c",
			}, wantAt: "9",
		},
		"what was there when its namespace became one of templates": {
			positions: map[string]string{"v1 ConfigMap": "9", "namespaces": ""},
			want:      []string{"dev.knative.apiserver.ref.update ConfigMap/shop/a"}, wantAt: "9",
		},
		"nothing, where a policy changed and its kinds are known": {
			positions: map[string]string{"v1 ConfigMap": "5"}, unknown: true, wantAt: "5",
		},
		"again, where the broker took nothing": {
			positions: map[string]string{"v1 ConfigMap": "5"}, broken: true, wantAt: "5",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := &hubOf{changes: map[string]hub.Changes{"": everything, "5": since, "9": {Until: "9"}}, complete: tc.complete}
			m := &memory{all: map[string]string{}}
			maps.Copy(m.all, tc.positions)
			index := indexOf{candidates: []claims.Candidate{{Policy: holder().Key, Version: 2}}}
			if tc.released {
				index.candidates = nil
			}
			var got []string
			publish := func(_ context.Context, out []event.Event) error {
				if tc.broken {
					return errDown
				}
				for _, e := range out {
					got = append(got, e.Type()+" "+e.Subject())
				}
				return nil
			}
			r := replay.New(h, index, m, &labelled{}, publish, time.Now)
			find := func(ctx context.Context) error { _, err := r.Find(ctx); return err }
			if tc.unknown {
				find = func(ctx context.Context) error { _, err := r.Policies(ctx, event.New()); return err }
			}
			if err := find(t.Context()); errors.Is(err, errDown) != tc.broken || err != nil && !tc.broken {
				t.Fatal(err)
			}
			slices.Sort(got)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("announced (-want +got)\n%s", d)
			}
			if at := m.all["v1 ConfigMap"]; at != tc.wantAt {
				t.Errorf("the position is %q, want %q", at, tc.wantAt)
			}
		})
	}
}

// Sources look into namespaces of templates alone; placements select others too. They
// alone are told of what changed there, each object once.
func TestC7WhatChangesOutsideTheNamespacesOfTemplatesIsToldToPlacements(t *testing.T) {
	since := hub.Changes{Until: "9", All: []hub.Written{
		configMap(hub.Added, "bank", "a", "6", false), configMap(hub.Updated, "bank", "a", "7", false), configMap(hub.Deleted, "bank", "b", "8", false),
		configMap(hub.Updated, "bank", "ours", "8", true), configMap(hub.Updated, "other", "c", "8", false), configMap(hub.Updated, "kube-system", "d", "8", false),
	}}
	selecting := func(name string) *placementv1.ClusterResourcePlacement {
		p := &placementv1.ClusterResourcePlacement{}
		p.Name, p.Spec.ResourceSelectors = "crp", []placementv1.ClusterResourceSelector{{Version: "v1", Kind: "Namespace", Name: name}}
		return p
	}
	leaving := selecting("bank")
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for name, tc := range map[string]struct {
		placement *placementv1.ClusterResourcePlacement
		want      []string
	}{
		"C7: one that selects the namespace": {selecting("bank"), []string{"a", "b"}},
		"C7: one that selects all":           {selecting(""), []string{"a", "b", "c"}},
		"one that selects another":           {selecting("shop"), nil},
		"C102: one that is being deleted":    {leaving, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hubOf{changes: map[string]hub.Changes{"5": since}, placements: []*placementv1.ClusterResourcePlacement{tc.placement}}
			m := &memory{all: map[string]string{"v1 ConfigMap": "5", "namespaces": "shop"}}
			var got []string
			publish := func(_ context.Context, out []event.Event) error {
				for _, e := range out {
					d, err := events.Decode(e)
					if err != nil || e.Type() != events.PlacementTouched || d.Placement != "crp" || d.Template == nil {
						t.Fatalf("told %s: %v", e, err)
					}
					got = append(got, d.Template.Name)
				}
				return nil
			}
			r := replay.New(h, indexOf{}, m, &labelled{}, publish, time.Now)
			if _, err := r.Find(t.Context()); err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("told of (-want +got)\n%s", d)
			}
		})
	}
}

// A source that starts anew tells nothing meanwhile; its Deployment is told of by
// another, and for the last time when the new one watches.
func TestWhatASourceMissesWhileItStartsIsFoundWhenItHas(t *testing.T) {
	for name, tc := range map[string]struct {
		about propagation.TemplateKey
		finds bool
	}{
		"the Deployment of a source":     {propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "sluice-system", Name: "hub-deployment"}, true},
		"a policy whose kinds are known": {propagation.TemplateKey{APIVersion: "policy.karmada.io/v1alpha1", Kind: "PropagationPolicy", Namespace: "shop", Name: "p"}, false},
		"a Deployment of somebody's own": {propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "hub-deployment"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hubOf{changes: map[string]hub.Changes{
				"5": {Until: "9", All: []hub.Written{configMap(hub.Added, "shop", "a", "6", false)}}, "9": {Until: "9"},
			}}
			m := &memory{all: map[string]string{"v1 ConfigMap": "5", "namespaces": "shop"}}
			found := false
			publish := func(context.Context, []event.Event) error { found = true; return nil }
			s := sweeper.New(h, nil, m, nil, time.Now).Replaying(replay.New(h, indexOf{}, m, &labelled{}, publish, time.Now))
			e, err := events.NewResource("hub", events.ResourceUpdated, events.Object{TemplateKey: tc.about, Version: "1"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Handle(t.Context(), e); found != tc.finds {
				t.Errorf("found: %t, want %t; %v", found, tc.finds, err)
			}
		})
	}
}

// Who looks on behalf of others looks at all that any of them wanted.
func TestOneLooksForAll(t *testing.T) {
	h := &hubOf{changes: map[string]hub.Changes{"5": {Until: "6"}, "6": {Until: "9", All: []hub.Written{configMap(hub.Added, "shop", "late", "7", false)}}, "9": {Until: "9"}}}
	m := &memory{all: map[string]string{"v1 ConfigMap": "5", "namespaces": "shop"}}
	var r *replay.Replay
	var found []string
	followed := 0
	sources := followedBy(func() error {
		if followed++; followed > 1 {
			return nil
		}
		// Two come while one looks: they leave it to that one.
		_, policies := r.Policies(t.Context(), event.New())
		_, err := r.Find(t.Context())
		return errors.Join(policies, err)
	})
	publish := func(_ context.Context, out []event.Event) error {
		for _, e := range out {
			found = append(found, e.Subject())
		}
		return nil
	}
	r = replay.New(h, indexOf{}, m, sources, publish, time.Now)
	if _, err := r.Find(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"ConfigMap/shop/late"}, found); d != "" || followed != 2 {
		t.Errorf("found in %d looks (-want +got)\n%s", followed, d)
	}
}

// followedBy are sources that have something done when they are to follow.
type followedBy func() error

func (f followedBy) Follow(context.Context, []schema.GroupVersionKind, bool) (string, bool, error) {
	return "sluice.dev/templates=true", false, f()
}

// restarting are sources that start anew when they are to follow, so many times.
type restarting int

func (r *restarting) Follow(context.Context, []schema.GroupVersionKind, bool) (string, bool, error) {
	*r--
	return "sluice.dev/templates=true", *r >= 0, nil
}

// While sources start anew, one that nobody waits for looks again and again, whichever
// replica that is: no handler waits, and it ends.
func TestWhatHappensWhileSourcesStartIsFoundByAnEventToItself(t *testing.T) {
	for name, tc := range map[string]struct {
		cause   propagation.TemplateKey
		restart int
		looks   bool
		least   time.Duration // it is looked for until sources that start last watch
	}{
		"a policy selects a new kind":      {propagation.TemplateKey{APIVersion: "policy.karmada.io/v1alpha1", Kind: "PropagationPolicy", Namespace: "shop", Name: "p"}, 1, true, 20 * time.Second},
		"a policy selects what is watched": {propagation.TemplateKey{APIVersion: "policy.karmada.io/v1alpha1", Kind: "PropagationPolicy", Namespace: "shop", Name: "p"}, 0, false, 0},
		"a source has died":                {propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: propagation.SystemNamespace, Name: "source"}, 0, true, 28 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			now, looks := noon, 0
			h := &hubOf{changes: map[string]hub.Changes{"": {Until: "9", Listed: true}, "9": {Until: "9"}}}
			m := &memory{all: map[string]string{}}
			sources := restarting(tc.restart)
			stage := func() *sweeper.Stage { // each event is another replica's
				return sweeper.New(h, nil, m, nil, func() time.Time { return now }).Replaying(replay.New(h, indexOf{}, m, &sources, func(context.Context, []event.Event) error { return nil }, func() time.Time { return now }))
			}
			cause, err := events.NewResource("hub", events.ResourceAdded, events.Object{TemplateKey: tc.cause, Version: "1"})
			for e := cause; err == nil && looks < 20; looks++ {
				var out []event.Event
				if out, err = stage().Handle(t.Context(), e); err != nil || len(out) == 0 {
					break
				}
				if len(out) != 1 || out[0].Type() != events.SourcesChanged || out[0].ID() == e.ID() {
					t.Fatalf("told %v", out)
				}
				// The same once more, for a source tells of its start several times.
				if looks < 3 {
					if again, err := stage().Handle(t.Context(), cause); len(again) != 0 || err != nil {
						t.Errorf("a second one looks at the same time: %v, %v", again, err)
					}
				}
				e, now = out[0], now.Add(4*time.Second)
			}
			if took := now.Sub(noon); err != nil || tc.looks && (took < tc.least || took > tc.least+10*time.Second) || !tc.looks && took > 0 {
				t.Errorf("it looked %d times within %s: %v", looks, took, err)
			}
		})
	}
}

// A tick that has sources start anew has it looked for what they miss, once.
func TestATickThatChangesTheSourcesTellsIt(t *testing.T) {
	now := noon
	h := &hubOf{changes: map[string]hub.Changes{"": {Until: "9", Listed: true}, "9": {Until: "9"}}}
	sources := restarting(2)
	r := replay.New(h, indexOf{}, &memory{all: map[string]string{}}, &sources, func(context.Context, []event.Event) error { return nil }, func() time.Time { return now })
	for _, tc := range []struct {
		look    string
		changed bool
	}{{"sources start", true}, {"they start again while it is looked for", false}, {"they watch", false}} {
		changed, err := r.Find(t.Context())
		if changed != tc.changed || err != nil {
			t.Errorf("%s: changed %t, %v", tc.look, changed, err)
		}
		now = now.Add(4 * time.Second)
	}
}

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
