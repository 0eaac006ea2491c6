// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/sweeping"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

var (
	noon        = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	configMaps  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	deployments = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// fleet is a hub with its members, and a broker; each sweep is another replica's.
type fleet struct {
	t     *testing.T
	now   time.Time
	at    map[string]string // the positions in Redis
	ready map[string]bool
	kinds []schema.GroupVersionKind
	hub   map[string]*clusterv1alpha1.Cluster

	mu     sync.Mutex
	asked  []string
	answer func(cluster, kind, since string) (member.News, error)
	told   []string
	// accepts is how many batches the broker takes yet; below zero: all.
	accepts int
	writes  int
	due     []string // whose Works are looked at once, after the last sweep
}

func newFleet(t *testing.T, names ...string) *fleet {
	f := &fleet{t: t, now: noon, at: map[string]string{}, ready: map[string]bool{}, kinds: []schema.GroupVersionKind{configMaps}, hub: map[string]*clusterv1alpha1.Cluster{}, accepts: -1}
	f.quiet()
	for _, name := range names {
		f.join(name)
	}
	return f
}

func (f *fleet) join(name string) {
	f.ready[name] = true
	f.hub[name] = &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// quiet has members say that nothing happened; of each kind all are asked for first.
func (f *fleet) quiet() {
	f.answer = func(_, _, since string) (member.News, error) {
		if since == "" {
			return member.News{Until: "100"}, nil
		}
		return member.News{Until: since}, nil
	}
}

// says has members say that, whenever they are asked.
func (f *fleet) says(n member.News) {
	f.answer = func(string, string, string) (member.News, error) { return n, nil }
}

func (f *fleet) Identity(context.Context) (string, error) { return "hub", nil }

func (f *fleet) Cluster(_ context.Context, name string) (*clusterv1alpha1.Cluster, error) {
	if c := f.hub[name]; c != nil {
		return c, nil
	}
	return nil, outcome.ErrGone
}

func (f *fleet) CommitClusterStatus(_ context.Context, c *clusterv1alpha1.Cluster, status clusterv1alpha1.ClusterStatus) error {
	f.writes++
	next := c.DeepCopy()
	next.Status = status
	f.hub[c.Name] = next
	return nil
}

func (f *fleet) ask(_ context.Context, cluster string, gvk schema.GroupVersionKind, since, hub string) (member.News, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if hub != "hub" {
		f.t.Errorf("it asks as hub %q", hub)
	}
	f.asked = append(f.asked, strings.TrimSpace(cluster+" "+gvk.Kind+" "+since))
	return f.answer(cluster, gvk.Kind, since)
}

var errBroker = errors.New("the broker does not answer")

func (f *fleet) publish(_ context.Context, out []event.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.accepts == 0 {
		return errBroker
	}
	f.accepts--
	for _, e := range out {
		o, err := events.DecodeResource(e)
		if err != nil {
			f.t.Fatal(err)
		}
		what := e.Type()[strings.LastIndex(e.Type(), ".")+1:]
		f.told = append(f.told, fmt.Sprintf("%s %s/%s %s@%s", what, o.Cluster, o.Kind, o.Name, o.Version))
	}
	return nil
}

// sweep is one, a minute after the last, and what it asked, told and had looked at.
func (f *fleet) sweep() error {
	f.t.Helper()
	f.asked, f.told = nil, nil
	f.now = f.now.Add(time.Minute)
	one := tick.New(event.New(), maps.Clone(f.at), f.now)
	failed := New(f, f.ask, f.publish, func() time.Time { return f.now }).Sweep(f.t.Context(), one, f.ready, f.kinds)
	f.due = slices.Sorted(maps.Keys(one.Round("sweep revisit")))
	one.SetRound("sweep revisit", sweeping.Round{}) // somebody has
	if err := one.Save(f.t.Context(), f); err != nil {
		f.t.Fatal(err)
	}
	slices.Sort(f.asked)
	return failed
}

func (f *fleet) Load(context.Context) (map[string]string, error) { return f.at, nil }
func (f *fleet) Save(_ context.Context, name, position string) error {
	f.at[name] = position
	return nil
}

// settled has two sweeps gone by.
func (f *fleet) settled() *fleet {
	f.t.Helper()
	for range 2 {
		if err := f.sweep(); err != nil {
			f.t.Fatal(err)
		}
	}
	return f
}

func change(name, version string, deleted bool) member.Change {
	return member.Change{Ref: member.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}, Version: version, Deleted: deleted}
}

func TestWhatChangedInAMemberIsTold(t *testing.T) {
	many := make([]member.Change, 120)
	for i := range many {
		many[i] = change(fmt.Sprintf("c%03d", i), fmt.Sprint(101+i), false)
	}
	for sentence, tc := range map[string]struct {
		news    member.News
		accepts int
		want    []string
		told    int      // how many, where they are not named
		due     []string // whose Works are looked at once
		next    string   // the version that the next sweep asks from
		fails   bool
	}{
		"nothing happened":                        {news: member.News{Until: "180"}, accepts: -1, next: "180"},
		"as its source would have told it":        {news: member.News{Changes: []member.Change{change("a", "150", false), change("b", "160", true)}, Until: "180"}, accepts: -1, want: []string{"update m1/ConfigMap a@150", "delete m1/ConfigMap b@160"}, next: "180"},
		"of each object what happened last":       {news: member.News{Changes: []member.Change{change("a", "150", false), change("b", "160", false), change("a", "170", true)}, Until: "180"}, accepts: -1, want: []string{"update m1/ConfigMap b@160", "delete m1/ConfigMap a@170"}, next: "180"},
		"what is forgotten is looked at once":     {news: member.News{Until: "900", Lost: true}, accepts: -1, due: []string{"m1"}, next: "900"},
		"a member that went back, too":            {news: member.News{Until: "50", Lost: true}, accepts: -1, due: []string{"m1"}, next: "50"},
		"a broker that is away hears of it later": {news: member.News{Changes: []member.Change{change("a", "150", false)}, Until: "180"}, fails: true, next: "100"},
		"it goes on behind what was taken":        {news: member.News{Changes: many, Until: "300"}, accepts: 2, told: 100, fails: true, next: "200"},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFleet(t, "m1").settled()
			f.says(tc.news)
			f.accepts = tc.accepts
			if err := f.sweep(); (err != nil) != tc.fails {
				t.Errorf("it fails with %v", err)
			}
			if tc.told > 0 {
				if len(f.told) != tc.told {
					t.Errorf("%d are told, want %d", len(f.told), tc.told)
				}
			} else if d := cmp.Diff(tc.want, f.told); d != "" {
				t.Errorf("told (-want +got)\n%s", d)
			}
			if d := cmp.Diff(tc.due, f.due); d != "" {
				t.Errorf("looked at once (-want +got)\n%s", d)
			}
			f.accepts = -1
			f.quiet()
			if err := f.sweep(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{"m1 ConfigMap " + tc.next}, f.asked); d != "" {
				t.Errorf("the next sweep asks (-want +got)\n%s", d)
			}
			if f.writes > 0 {
				t.Errorf("%d writes", f.writes)
			}
		})
	}
}

// What there is already in a member, or of a kind, when it is looked at first.
func TestWhereAMemberBegins(t *testing.T) {
	there := member.News{Changes: []member.Change{change("a", "90", false)}, Until: "100"}
	for sentence, tc := range map[string]struct {
		before func(f *fleet)
		want   []string
		due    []string
	}{
		"one that joined anew begins at its present":              {before: func(f *fleet) { f.settled(); f.join("m2") }},
		"so does one that joined again":                           {before: func(f *fleet) { f.join("m2"); f.settled(); delete(f.ready, "m2"); f.settled(); f.join("m2") }},
		"without positions nobody knows: its Works are looked at": {before: func(f *fleet) { f.join("m2") }, due: []string{"m1", "m2"}},
		"and that is not forgotten while one is away": {before: func(f *fleet) {
			f.join("m2")
			f.ready["m2"] = false
			f.settled()
			f.ready["m2"] = true
		}, due: []string{"m2"}},
		"one that was away goes on where it was": {before: func(f *fleet) { f.join("m2"); f.settled(); f.ready["m2"] = false; f.settled(); f.ready["m2"] = true }, want: []string{"update m2/ConfigMap a@90"}},
		"of a kind that is new in it all is told": {before: func(f *fleet) {
			f.kinds = nil
			f.join("m2")
			f.settled()
			f.kinds = []schema.GroupVersionKind{configMaps}
		}, want: []string{"update m2/ConfigMap a@90"}},
		"positions that cannot be read are none": {before: func(f *fleet) { f.join("m2"); f.settled(); f.at[positionMembers] = "[" }, due: []string{"m1", "m2"}},
		"of what nobody follows any more, and then again, all is told, too": {before: func(f *fleet) {
			f.join("m2")
			f.settled()
			f.kinds = nil
			f.settled()
			f.kinds = []schema.GroupVersionKind{configMaps}
		}, want: []string{"update m2/ConfigMap a@90"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := newFleet(t, "m1")
			tc.before(f)
			f.answer = func(cluster, _, since string) (member.News, error) {
				if cluster == "m1" {
					return member.News{Until: "100"}, nil
				}
				return there, nil
			}
			if err := f.sweep(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, f.told); d != "" {
				t.Errorf("told (-want +got)\n%s", d)
			}
			if d := cmp.Diff(tc.due, f.due); d != "" {
				t.Errorf("looked at once (-want +got)\n%s", d)
			}
		})
	}
}

// One's trouble is one's own, and nobody is asked more often than that.
func TestWhoIsAsked(t *testing.T) {
	f := newFleet(t, "m1", "m2", "m3")
	f.kinds = append(f.kinds, deployments)
	f.ready["m3"] = false
	f.settled()
	if d := cmp.Diff([]string{"m1 ConfigMap 100", "m1 Deployment 100", "m2 ConfigMap 100", "m2 Deployment 100"}, f.asked); d != "" {
		t.Errorf("one request a kind of each that is ready (-want +got)\n%s", d)
	}
	f.now = f.now.Add(pause/2 - time.Minute)
	if err := f.sweep(); err != nil || f.asked != nil {
		t.Errorf("%s later it asks %v: %v", pause/2, f.asked, err)
	}
	broken := errors.New("broken")
	f.answer = func(cluster, kind, since string) (member.News, error) {
		switch {
		case cluster == "m1" && kind == "ConfigMap":
			return member.News{}, broken
		case cluster == "m1":
			return member.News{}, &member.NotServed{Cluster: cluster, GVK: deployments}
		case kind == "Deployment":
			return member.News{}, &member.Unreachable{Cluster: cluster, Err: broken}
		}
		return member.News{Changes: []member.Change{change("a", "150", false)}, Until: "180"}, nil
	}
	if err := f.sweep(); !errors.Is(err, broken) || strings.Contains(err.Error(), "m2") {
		t.Errorf("it fails with %v: of who cannot be reached the registrar tells", err)
	}
	if d := cmp.Diff([]string{"update m2/ConfigMap a@150"}, f.told); d != "" {
		t.Error(d)
	}
	f.quiet()
	if err := f.sweep(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"m1 ConfigMap 100", "m1 Deployment", "m2 ConfigMap 180", "m2 Deployment 100"}, f.asked); d != "" {
		t.Errorf("then (-want +got)\n%s", d)
	}
}

// Where there is no time for all, the next sweep begins with who had none.
func TestMembersTakeTurns(t *testing.T) {
	f := newFleet(t, "m1", "m2", "m3").settled()
	order := func() (names []string) {
		before := map[string]place{}
		if !tick.New(event.New(), f.at, f.now).Read(positionMembers, &before) {
			t.Fatalf("the positions are %v", f.at)
		}
		for _, l := range due(f.now.Add(time.Minute), before, f.ready) {
			names = append(names, l.name)
		}
		return names
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	m1 := make(chan struct{})
	f.answer = func(_, _, since string) (member.News, error) { return member.News{Until: since}, nil }
	ask := func(ctx context.Context, cluster string, gvk schema.GroupVersionKind, since, hub string) (member.News, error) {
		switch cluster {
		case "m1": // it answers, and then the time is over
			defer close(m1)
			return f.ask(ctx, cluster, gvk, since, hub)
		case "m2":
			<-m1
			end()
		}
		<-ctx.Done()
		return member.News{}, ctx.Err()
	}
	f.now = f.now.Add(time.Minute)
	one := tick.New(event.New(), maps.Clone(f.at), f.now)
	if err := New(f, ask, f.publish, nil).Sweep(ctx, one, f.ready, f.kinds); err != nil {
		t.Fatal(err)
	}
	if err := one.Save(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"m2", "m3", "m1"}, order()); d != "" {
		t.Errorf("the next sweep's order (-want +got)\n%s", d)
	}
	if err := f.sweep(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"m1 ConfigMap 100", "m2 ConfigMap 100", "m3 ConfigMap 100"}, f.asked); d != "" {
		t.Errorf("each goes on where it was (-want +got)\n%s", d)
	}
}

func TestThatAKindMayNotBeWatchedIsSaidOnce(t *testing.T) {
	f := newFleet(t, "m1", "m2")
	f.kinds = append(f.kinds, deployments)
	refuse := func(cluster, kind, since string) (member.News, error) {
		if cluster == "m1" && kind == "Deployment" {
			return member.News{}, &member.Refused{Cluster: cluster, Message: "deployments.apps is forbidden"}
		}
		return member.News{Until: "100"}, nil
	}
	is := func(name string, status metav1.ConditionStatus) bool {
		return conditions.Is(f.hub[name].Status.Conditions, clusterv1alpha1.ConditionWatchable, status)
	}
	f.answer = refuse
	f.settled()
	if !is("m1", metav1.ConditionFalse) || f.writes != 1 || len(f.hub["m2"].Status.Conditions) > 0 {
		t.Errorf("%d writes: %+v", f.writes, f.hub["m1"].Status.Conditions)
	}
	if said := f.hub["m1"].Status.Conditions[0].Message; !strings.Contains(said, "Deployment.apps") || strings.Contains(said, "ConfigMap") {
		t.Errorf("it says %q", said)
	}
	f.answer = func(_, kind, since string) (member.News, error) {
		return member.News{Until: "200", Changes: []member.Change{change(kind+since, "150", false)}}, nil
	}
	if err := f.sweep(); err != nil {
		t.Fatal(err)
	}
	if !is("m1", metav1.ConditionTrue) || f.writes != 2 || !slices.Contains(f.told, "update m1/ConfigMap Deployment@150") {
		t.Errorf("granted: %d writes, told %v, %+v", f.writes, f.told, f.hub["m1"].Status.Conditions)
	}
	f.answer = func(cluster, kind, since string) (member.News, error) {
		if kind == "ConfigMap" {
			return refuse(cluster, "Deployment", since)
		}
		return member.News{}, &member.Unreachable{Cluster: cluster, Err: errBroker}
	}
	f.settled() // who cannot be asked for all says nothing new
	if f.writes != 2 {
		t.Errorf("%d writes", f.writes)
	}
}
