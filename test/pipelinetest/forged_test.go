// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package pipelinetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"pgregory.net/rapid"

	events "sluice.dev/apis/events/v1"
	policyv1alpha1 "sluice.dev/apis/policy/v1alpha1"
	workv1alpha2 "sluice.dev/apis/work/v1alpha2"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/function"
	"sluice.dev/pkg/hub"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/pkg/pipeline/dependencies"
	"sluice.dev/pkg/pipeline/detector"
	"sluice.dev/pkg/pipeline/gate"
	"sluice.dev/pkg/pipeline/preemptor"
	"sluice.dev/pkg/pipeline/renderer"
	"sluice.dev/pkg/pipeline/reporter"
	"sluice.dev/pkg/pipeline/scheduler"
	"sluice.dev/pkg/pipeline/sweeper"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/positions"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// world is a hub, members and all stages, which came to rest.
type world struct {
	t       *testing.T
	ctx     context.Context
	now     time.Time
	hub     *pipelinetest.Hub
	members map[string]*pipelinetest.Member
	redis   *pipelinetest.Redis
	routes  *pipelinetest.Routes
	stages  map[string]function.Stage
	queue   []event.Event

	// The applier writes to members side by side.
	writing sync.Mutex
	wrote   []string
}

func (w *world) note(write string) {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.wrote = append(w.wrote, write)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), now: fixture.Start, members: map[string]*pipelinetest.Member{}, stages: map[string]function.Stage{}}
	var err error
	if w.redis, err = pipelinetest.StartRedis(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.redis.Stop)
	if w.routes, err = pipelinetest.LoadRoutes(); err != nil {
		t.Fatal(err)
	}
	w.hub = pipelinetest.NewHub(pipelinetest.Options{Now: w.time})
	w.hub.Watching = func(propagation.TemplateKey) bool { return true }
	w.hub.Wrote = func(_ context.Context, write pipelinetest.Write) { w.note(write.String()) }
	for _, name := range []string{"m1", "m2", "m3"} {
		m := pipelinetest.NewMember(name)
		m.Wrote = func(_ context.Context, write pipelinetest.MemberWrite) {
			w.note(fmt.Sprint(name, ": ", write.Verb))
		}
		w.members[name] = m
		w.hub.Join(name)
	}
	index, suspensions := claims.New(w.redis), suspension.New(w.redis)
	sweeps := sweeper.New(w.hub, index, positions.New(w.redis), func(_ context.Context, c string) (string, error) { return w.members[c].Probe() }, w.time)
	sweeps.Mirroring(pipelinetest.Mirrored{Hub: w.hub}, unused)
	for _, s := range append(w.placing(),
		detector.New(w.hub, index, index, suspensions), preemptor.New(w.hub, index), gate.New(w.hub, w.time), dependencies.New(w.hub, suspensions),
		scheduler.New(w.hub, w.hub, w.hub, w.hub, w.time), renderer.New(w.hub, w.time),
		applier.New(w.hub, suspensions, func(ctx context.Context, c string) (applier.Member, error) { return w.member(ctx, c) }, w.time).Sequential(),
		reporter.New(w.hub, func(ctx context.Context, c string) (reporter.Member, error) { return w.member(ctx, c) }, w.time),
		sweeps,
	) {
		w.stages[s.Name()] = s
	}
	if err := sweeps.Rebuild(w.ctx); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) time() time.Time { return w.now }

func (w *world) member(ctx context.Context, cluster string) (*pipelinetest.Member, error) {
	if _, err := w.hub.Cluster(ctx, cluster); err != nil {
		return nil, err
	}
	return w.members[cluster], nil
}

// handle has a stage handle an event, and keeps what it emits. An error says no.
func (w *world) handle(stage string, e event.Event) {
	for n := 0; n < 5; n++ {
		out, err := w.stages[stage].Handle(w.ctx, e)
		if outcome.IsConflict(err) {
			continue
		}
		w.queue = append(w.queue, out...)
		return
	}
}

// rest has all that was told handled, until nobody tells of anything more.
func (w *world) rest() {
	resource := map[hub.ChangeType]string{hub.Added: events.ResourceAdded, hub.Updated: events.ResourceUpdated, hub.Deleted: events.ResourceDeleted}
	tell := func(eventType string, o events.Object) {
		e, err := events.NewResource("/test", eventType, o)
		if err != nil {
			w.t.Fatal(err)
		}
		w.queue = append(w.queue, e)
	}
	for steps := 0; ; steps++ {
		if steps > 5000 {
			w.t.Fatal("it does not come to rest")
		}
		if kinds := w.hub.Untold(); len(w.queue) == 0 && len(kinds) > 0 {
			n := w.hub.Tell(kinds[0])
			tell(resource[n.Type], events.Object{TemplateKey: n.Key, Version: n.Version})
		}
		for name, m := range w.members {
			m.Act()
			if n, ok := m.Tell(); ok {
				eventType := events.ResourceUpdated
				if n.Deleted {
					eventType = events.ResourceDeleted
				}
				tell(eventType, events.Object{TemplateKey: n.Ref, Version: strconv.Itoa(n.Version), Cluster: name})
			}
		}
		if len(w.queue) == 0 {
			return
		}
		e := w.queue[0]
		w.queue = w.queue[1:]
		for _, r := range w.routes.For(e) {
			if w.stages[r.Stage] != nil {
				w.handle(r.Stage, e)
			}
		}
	}
}

// sweep lets a tick go by.
func (w *world) sweep() {
	w.now = w.now.Add(time.Minute)
	w.redis.Pass(time.Minute, w.now)
	e := event.New()
	e.SetID("ping" + w.now.String())
	e.SetType(events.Ping)
	e.SetSource("/ping")
	w.handle(sweeper.Name, e)
	w.rest()
}

// deployment of a namespace, and what a policy selects it by.
func deployment(namespace, name string) propagation.TemplateKey {
	return propagation.TemplateKey{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: name}
}

func selecting(keys ...propagation.TemplateKey) (all []policyv1alpha1.ResourceSelector) {
	for _, k := range keys {
		all = append(all, policyv1alpha1.ResourceSelector{APIVersion: k.APIVersion, Kind: k.Kind, Namespace: k.Namespace, Name: k.Name})
	}
	return all
}

// full is a world with something of everything that waits, is held or runs.
func full(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	put := func(key propagation.TemplateKey, replicas int64) {
		w.hub.Apply(key, func(obj map[string]any) { obj["spec"] = map[string]any{"replicas": replicas} })
		w.rest()
	}
	policy := func(b fixture.PolicyBuilder) {
		p := b.Policy()
		w.hub.PutPolicy(p.Key, p.Spec)
		w.rest()
	}
	runs, waits, held, free := deployment("shop", "runs"), deployment("shop", "waits"), deployment("shop", "held"), deployment("shop", "free")
	others, theirs := deployment("prod", "runs"), deployment("shop", "theirs")
	for _, k := range []propagation.TemplateKey{runs, waits, held, free, others, theirs} {
		put(k, 1)
	}
	policy(fixture.Policy("runs").Selecting(selecting(runs)...).To("m1", "m2"))
	policy(fixture.Policy("waits").Selecting(selecting(waits)...).To("m1"))
	policy(fixture.Policy("waits").Selecting(selecting(waits)...).To("m2").Lazy())
	policy(fixture.Policy("held").Selecting(selecting(held)...).To("m1"))
	policy(fixture.Policy("held").Selecting(selecting(held)...).To("m1").Suspending())
	put(held, 2)
	policy(fixture.ClusterPolicy("all").Selecting(selecting(others)...).To("m1", "m2", "m3"))
	foreign := fixture.Policy("theirs").Selecting(selecting(theirs)...).To("m1").Policy()
	foreign.Spec.SchedulerName = "theirs"
	w.hub.PutPolicy(foreign.Key, foreign.Spec)
	w.rest()
	w.schedule(propagation.BindingOf(theirs), "m1")
	w.place()
	for range 4 {
		w.sweep()
	}
	for cluster, want := range map[string]int{"m1": 7, "m2": 4, "m3": 1} {
		if got := len(w.members[cluster].Objects()); got != want {
			t.Fatalf("%s has %d objects, want %d", cluster, got, want)
		}
	}
	w.wrote = nil
	w.sweep()
	if len(w.wrote) > 0 {
		t.Fatalf("it does not rest: %v", w.wrote)
	}
	return w
}

// schedule is what a team's scheduler does.
func (w *world) schedule(key propagation.BindingKey, cluster string) {
	b := w.hub.LiveBinding(key)
	next := *b
	next.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: cluster, Replicas: 1}}
	b, err := w.hub.CommitBinding(w.ctx, b, &next)
	if err != nil {
		w.t.Fatal(err)
	}
	template := b.Template()
	e, err := events.New("theirs", event.Event{}, events.BindingScheduled, events.Data{Template: &template, Binding: &key, BindingVersion: b.ResourceVersion})
	if err != nil {
		w.t.Fatal(err)
	}
	w.queue = append(w.queue, e)
	w.rest()
}

// forger draws events that anybody may make who reaches a function: their parts are
// those of real ones, in any combination, and such as are nobody's.
type forger struct {
	strings map[string][]string
	data    map[string][]any
	types   []string
	// works are whole: a Work, its cluster, its binding and its template.
	works []map[string]any
}

func newForger(w *world) *forger {
	f := &forger{
		types: append(slices.Sorted(maps.Keys(events.Catalog)), events.ResourceAdded, events.ResourceUpdated, events.ResourceDeleted, events.Ping, "dev.sluice.nonsense"),
		data:  map[string][]any{"template": {nil}, "binding": {nil}, "policy": {nil}, "previous": {nil}, "work": {nil}},
	}
	names := []string{"runs", "waits", "held", "free", "theirs", "member1/", "../x", "none"}
	f.strings = map[string][]string{
		"name": names, "namespace": {"shop", "prod", "", "kube-system", "shop/..", "sluice-system"}, "kind": {"Deployment", "deployment", "Namespace", "Secret", "Cluster", "Work"},
		"apiVersion": {"apps/v1", "apps/v9", "v1", "work.karmada.io/v1alpha2", "cluster.karmada.io/v1alpha1"},
		"cluster":    {"", "m1", "m2", "m3", "m1/", "none"}, "schedulerName": {"", "theirs", "default-scheduler"},
		"continue": {"", "x", "100", "shop/runs"}, "reason": {"", "Due", "Wanted", "PolicyGone", "TemplateDeleting"},
		"version": {"", "1", "999999", "x"}, "placement": {"", "crp"},
	}
	add := func(what string, v any) { f.data[what] = append(f.data[what], v) }
	for _, t := range w.hub.LiveTemplates() {
		add("template", t.Key)
		v9 := t.Key
		v9.APIVersion = "apps/v9"
		add("template", v9)
	}
	add("template", deployment("shop", "none"))
	add("template", propagation.TemplateKey{APIVersion: "v1", Kind: "Namespace", Name: "prod"})
	for _, b := range w.hub.LiveBindings() {
		add("binding", b.Key)
	}
	add("binding", propagation.BindingKey{Namespace: "shop", Name: "none-deployment"})
	for _, p := range w.hub.LivePolicies() {
		add("policy", p.Key)
		add("previous", p.Key)
	}
	add("policy", propagation.PolicyKey{Scope: propagation.Namespaced, Namespace: "prod", Name: "none"})
	for _, work := range w.hub.LiveWorks() {
		add("work", work.Key)
		if key, err := work.Template(); err == nil && work.Placement() == "" {
			f.works = append(f.works, map[string]any{"template": key, "binding": work.Binding(), "work": work.Key, "cluster": work.Key.Cluster})
		}
		add("work", propagation.WorkKey{Cluster: "m3", Name: work.Key.Name})
	}
	f.forgePlaced(w)
	return f
}

func (f *forger) draw(t *rapid.T) event.Event {
	text := func(of, label string) string { return rapid.SampledFrom(f.strings[of]).Draw(t, label) }
	e := event.New()
	e.SetID(fmt.Sprint("forged-", rapid.IntRange(0, 1<<30).Draw(t, "id")))
	e.SetSource("/forged")
	e.SetType(rapid.SampledFrom(f.types).Draw(t, "type"))
	data := map[string]any{}
	if rapid.Bool().Draw(t, "of a source") {
		for _, name := range []string{"name", "namespace", "kind", "apiVersion"} {
			data[name] = text(name, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.data)) {
		if v := rapid.SampledFrom(f.data[name]).Draw(t, name); v != nil {
			data[name] = v
		}
	}
	for _, name := range []string{"templateVersion", "policyVersion", "bindingVersion", "workVersion"} {
		if v := text("version", name); v != "" {
			data[name] = v
		}
	}
	for _, name := range []string{"cluster", "schedulerName", "continue", "reason", "placement", "snapshotIndex"} {
		if v := text(name, name); v != "" {
			data[name] = v
		}
	}
	if rapid.Bool().Draw(t, "whole") {
		as(data, rapid.SampledFrom(f.works).Draw(t, "a Work"))
	}
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.SetData(event.ApplicationJSON, raw); err != nil {
		t.Fatal(err)
	}
	f.extend(t, &e, data)
	return e
}

// extend sets extensions: those that fit the data, and some that do not.
func (f *forger) extend(t *rapid.T, e *event.Event, data map[string]any) {
	key, _ := data["template"].(propagation.TemplateKey)
	fit := map[string]string{events.ExtName: key.Name, events.ExtNamespace: key.Namespace, events.ExtKind: key.Kind, events.ExtAPIVersion: key.APIVersion}
	if e.Type() == events.ResourceAdded || e.Type() == events.ResourceUpdated || e.Type() == events.ResourceDeleted {
		for ext, name := range map[string]string{events.ExtName: "name", events.ExtNamespace: "namespace", events.ExtKind: "kind", events.ExtAPIVersion: "apiVersion"} {
			fit[ext], _ = data[name].(string)
		}
	}
	fit[events.ExtCluster], _ = data["cluster"].(string)
	fit[events.ExtSchedulerName], _ = data["schedulerName"].(string)
	for ext, v := range fit {
		if v != "" {
			e.SetExtension(ext, v)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "differs") == 0 {
		ext := rapid.SampledFrom([]string{"name", "namespace", "kind", "cluster"}).Draw(t, "extension")
		if v := rapid.SampledFrom(f.strings[ext]).Draw(t, "another"); v != "" {
			e.SetExtension(ext, v)
		}
	}
}

// Whatever is told, in any order, by the Broker or to a function directly: where all is
// as it has to be, nothing is written, to the hub or to a member.
func TestZ33NoForgedEventWritesAnything(t *testing.T) {
	w := full(t)
	f := newForger(w)
	stages := slices.Sorted(maps.Keys(w.stages))
	rapid.Check(t, func(t *rapid.T) {
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			e := f.draw(t)
			if rapid.Bool().Draw(t, "by the Broker") {
				w.queue = append(w.queue, e)
			} else {
				w.handle(rapid.SampledFrom(stages).Draw(t, "stage"), e)
			}
			w.rest()
		}
		if len(w.wrote) > 0 {
			wrote := w.wrote
			w.wrote = nil
			t.Fatalf("written: %v", wrote)
		}
	})
	// What nobody can decode shows nothing.
	decoded, some := map[string]int{}, rapid.Custom(f.draw)
	for seed := range 5000 {
		e := some.Example(seed)
		if _, err := events.Decode(e); err == nil {
			decoded[e.Type()]++
		}
	}
	for _, eventType := range append(placedEvents,
		events.TemplateTouched, events.TemplateClaimed, events.TemplateReleased, events.BindingActivated, events.BindingRemoved,
		events.BindingScheduled, events.WorkRendered, events.WorkRemoved, events.WorkApplied, events.ClusterChanged, events.PolicyChanged,
	) {
		if decoded[eventType] == 0 {
			t.Errorf("none of the events %s was one", eventType)
		}
	}
	w.sweep()
	if len(w.wrote) > 0 {
		t.Errorf("the next sweep writes %v", w.wrote)
	}
}
