// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/coalesce"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// fleet is a template's Works in members, and what becomes of each.
type fleet struct {
	t       *testing.T
	hub     *pipelinetest.Hub
	stage   *applier.Stage
	works   []events.Data
	writes  map[string]*atomic.Int32
	trouble map[string]func(ctx context.Context) error // before a member is looked at
	held    map[string]bool
}

// troubled is a member whose answers may be an error.
type troubled struct {
	*pipelinetest.Member
	before func(ctx context.Context) error
	writes *atomic.Int32
}

func (m troubled) Look(ctx context.Context, ref member.Ref, how member.Looking) (applying.Read[*applying.Observed], error) {
	if m.before != nil {
		if err := m.before(ctx); err != nil {
			return applying.Read[*applying.Observed]{}, err
		}
	}
	return m.Member.Look(ctx, ref, how)
}

func (m troubled) Write(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any, live *applying.Observed) (*applying.Observed, error) {
	m.writes.Add(1)
	return m.Member.Write(ctx, w, hub, manifest, live)
}

func (m troubled) Create(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any) (*applying.Observed, error) {
	if m.before != nil {
		if err := m.before(ctx); err != nil {
			return nil, err
		}
	}
	m.writes.Add(1)
	return m.Member.Create(ctx, w, hub, manifest)
}

// Check holds nothing back.
func (f *fleet) Check(_ context.Context, _ propagation.TemplateKey, _ propagation.BindingKey, cluster string, _ uint64) (suspension.Verdict, error) {
	return suspension.Verdict{Suspended: f.held[cluster], By: "somebody"}, nil
}

func newFleet(t *testing.T, clusters ...string) *fleet {
	t.Helper()
	now := func() time.Time { return fixture.Start }
	f := &fleet{
		t: t, hub: pipelinetest.NewHub(pipelinetest.Options{Now: now}), writes: map[string]*atomic.Int32{},
		trouble: map[string]func(context.Context) error{}, held: map[string]bool{},
	}
	members := map[string]*pipelinetest.Member{}
	template := propagation.TemplateKey{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	binding := propagation.BindingOf(template)
	about, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range clusters {
		f.hub.Join(cluster)
		members[cluster], f.writes[cluster] = pipelinetest.NewMember(cluster), &atomic.Int32{}
		if err := members[cluster].EnsureNamespace(t.Context(), "shop", nil); err != nil {
			t.Fatal(err)
		}
		if err := f.hub.EnsureNamespace(t.Context(), propagation.WorkNamespace(cluster)); err != nil {
			t.Fatal(err)
		}
		w := &propagation.Work{Key: propagation.WorkKey{Cluster: cluster, Name: propagation.WorkName(binding)}, Annotations: map[string]string{
			propagation.AnnotationTemplate: string(about), propagation.AnnotationBindingNamespace: binding.Namespace, propagation.AnnotationBindingName: binding.Name,
		}}
		w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"settings"},"data":{"a":"one"}}`,
		)}}}
		if w, err = f.hub.CommitWork(t.Context(), nil, w); err != nil {
			t.Fatal(err)
		}
		f.works = append(f.works, events.Data{Template: &template, Binding: &binding, Work: &w.Key, WorkVersion: w.ResourceVersion, Cluster: cluster, Reason: "Create"})
	}
	f.stage = applier.New(f.hub, f, func(_ context.Context, cluster string) (applier.Member, error) {
		return troubled{members[cluster], f.trouble[cluster], f.writes[cluster]}, nil
	}, now)
	return f
}

// rendered is the event about all of them.
func (f *fleet) rendered() event.Event {
	f.t.Helper()
	cause := event.New()
	cause.SetID("cause")
	cause.SetSource("/test")
	cause.SetType(events.BindingScheduled)
	b := events.From("renderer", cause)
	for _, w := range f.works {
		b.EmitWork(events.WorkRendered, w)
	}
	out, err := b.Events()
	if err != nil || len(out) != 1 {
		f.t.Fatalf("%d events, %v", len(out), err)
	}
	return out[0]
}

func (f *fleet) handle(e event.Event) []event.Event {
	f.t.Helper()
	out, err := f.stage.Handle(f.t.Context(), e)
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

// said is what events say: type, members and reason of each, sorted.
func said(out []event.Event) (all []string) {
	for _, e := range out {
		all = append(all, fmt.Sprint(strings.TrimPrefix(e.Type(), "dev.sluice.work."), e.Extensions()[events.ExtClusters], e.Extensions()[events.ExtReason]))
	}
	slices.Sort(all)
	return all
}

func (f *fleet) wants(when string, out []event.Event, want ...string) {
	f.t.Helper()
	if diff := cmp.Diff(want, said(out)); diff != "" {
		f.t.Errorf("%s: events (-want +got):\n%s", when, diff)
	}
}

// wrote checks how often each member was written.
func (f *fleet) wrote(want map[string]int32) {
	f.t.Helper()
	got := map[string]int32{}
	for cluster, n := range f.writes {
		if n.Load() > 0 {
			got[cluster] = n.Load()
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Errorf("writes by member (-want +got):\n%s", diff)
	}
}

var errMoody = errors.New("something failed")

func TestWorksOfManyMembersAreOneAnswer(t *testing.T) {
	f := newFleet(t, "m1", "m2", "m3")
	f.wants("all are well", f.handle(f.rendered()), "applied,m1,m2,m3,AppliedSuccessful")
	f.wants("again", f.handle(f.rendered()), "applied,m1,m2,m3,AppliedSuccessful")
	f.wrote(map[string]int32{"m1": 1, "m2": 1, "m3": 1})
}

func TestWhatIsHeldIsToldApart(t *testing.T) {
	f := newFleet(t, "m1", "m2", "m3", "m4")
	f.held["m2"], f.held["m4"] = true, true
	f.wants("two are held", f.handle(f.rendered()), "applied,m1,m3,AppliedSuccessful", "held,m2,m4,SuspendDispatching")
	f.wrote(map[string]int32{"m1": 1, "m3": 1})
}

// TestOneThatFailsIsTriedByItself: what was done is not done again because of it.
func TestOneThatFailsIsTriedByItself(t *testing.T) {
	f := newFleet(t, "m1", "m2", "m3")
	f.trouble["m2"] = func(context.Context) error { return errMoody }
	out := f.handle(f.rendered())
	f.wants("one fails", out, "applied,m1,m3,AppliedSuccessful", "rendered,m2,Alone")
	alone := out[slices.IndexFunc(out, func(e event.Event) bool { return e.Type() == events.WorkRendered })]
	if _, err := f.stage.Handle(t.Context(), alone); !errors.Is(err, errMoody) {
		t.Errorf("by itself: %v, want %v: the broker tries again", err, errMoody)
	}
	f.trouble["m2"] = nil
	f.wants("by itself, later", f.handle(alone), "applied,m2,AppliedSuccessful")
	f.wrote(map[string]int32{"m1": 1, "m2": 1, "m3": 1})
}

func TestWhereAllFailTheEventIsTriedAgain(t *testing.T) {
	f := newFleet(t, "m1", "m2")
	for _, w := range f.works {
		f.trouble[w.Cluster] = func(context.Context) error { return outcome.After(time.Minute, errMoody) }
	}
	out, err := f.stage.Handle(t.Context(), f.rendered())
	if delay, ok := outcome.Delay(err); !ok || delay != time.Minute || len(out) > 0 || outcome.IsTerminal(err) {
		t.Errorf("%v and %v, want to be asked again in a minute", said(out), err)
	}
	f.trouble["m1"] = func(context.Context) error { return outcome.Terminal(errMoody) }
	f.wants("one for good", f.handle(f.rendered()), "rendered,m1,Alone", "rendered,m2,Alone")
}

func TestALostRaceIsReadAgainAtOnce(t *testing.T) {
	f := newFleet(t, "m1", "m2")
	lost := 0
	f.trouble["m2"] = func(context.Context) error {
		if lost++; lost < 3 {
			return outcome.Conflict(errMoody)
		}
		return nil
	}
	f.wants("the third time", f.handle(f.rendered()), "applied,m1,m2,AppliedSuccessful")
}

func TestAPanicIsTheHandlers(t *testing.T) {
	f := newFleet(t, "m1", "m2")
	f.trouble["m2"] = func(context.Context) error { panic("malformed") }
	defer func() {
		if v := recover(); v != "malformed" {
			t.Errorf("the handler's own goroutine got %v", v)
		}
		f.wrote(map[string]int32{"m1": 1})
	}()
	_, _ = f.stage.Handle(t.Context(), f.rendered())
}

// TestNobodyWaitsForAMember that does not answer: it is left behind once in time,
// and from then on at once, until it answers to who has time for it.
func TestNobodyWaitsForAMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "m1", "m2", "m3")
		hole := func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(10 * time.Second): // as pkg/member bounds a request
				return &member.Unreachable{Cluster: "m2", Err: errMoody}
			}
		}
		took := func() func() time.Duration {
			began := time.Now()
			return func() time.Duration { return time.Since(began) }
		}
		f.trouble["m2"] = hole

		clock := took()
		out := f.handle(f.rendered())
		f.wants("the first event", out, "applied,m1,m3,AppliedSuccessful", "rendered,m2,Alone")
		if d := clock(); d > 5*time.Second {
			t.Errorf("the others waited for %s", d)
		}
		f.wrote(map[string]int32{"m1": 1, "m3": 1})
		alone := out[slices.IndexFunc(out, func(e event.Event) bool { return e.Type() == events.WorkRendered })]

		clock = took()
		f.wants("the next event", f.handle(f.rendered()), "applied,m1,m3,AppliedSuccessful", "rendered,m2,Alone")
		if d := clock(); d > 0 {
			t.Errorf("the others waited for %s again", d)
		}

		f.wants("by itself, which takes its time", f.handle(alone), "failed,m2,ClusterUnreachable")
		clock = took()
		f.wants("after it failed", f.handle(f.rendered()), "applied,m1,m3,AppliedSuccessful", "rendered,m2,Alone")
		if d := clock(); d > 0 {
			t.Errorf("the others waited for %s after it failed", d)
		}

		f.trouble["m2"] = nil
		f.wants("once it answers", f.handle(alone), "applied,m2,AppliedSuccessful")
		f.wants("then", f.handle(f.rendered()), "applied,m1,m2,m3,AppliedSuccessful")
		f.wrote(map[string]int32{"m1": 1, "m2": 1, "m3": 1})
	})
}

// TestWhereAllAreSlowNobodyIsLeftBehind: a busy machine is no reason to tell of each
// member by itself, which makes it busier still; but nobody waits for ever.
func TestWhereAllAreSlowNobodyIsLeftBehind(t *testing.T) {
	for name, tc := range map[string]struct {
		takes map[string]time.Duration
		want  []string
		after time.Duration
	}{
		"all take long": {
			map[string]time.Duration{"m1": 7 * time.Second, "m2": 8 * time.Second, "m3": 9 * time.Second, "m4": 10 * time.Second},
			[]string{"applied,m1,m2,m3,m4,AppliedSuccessful"}, 10 * time.Second,
		},
		"most do not answer": {
			map[string]time.Duration{"m2": time.Minute, "m3": time.Minute, "m4": time.Minute},
			[]string{"applied,m1,AppliedSuccessful", "rendered,m2,Alone", "rendered,m3,Alone", "rendered,m4,Alone"}, 12 * time.Second,
		},
		"one does not answer, and the others take long": {
			map[string]time.Duration{"m1": 5 * time.Second, "m2": 5 * time.Second, "m3": 6 * time.Second, "m4": time.Minute},
			[]string{"applied,m1,m2,m3,AppliedSuccessful", "rendered,m4,Alone"}, 8 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, "m1", "m2", "m3", "m4")
				for cluster, d := range tc.takes {
					f.trouble[cluster] = func(ctx context.Context) error {
						select {
						case <-ctx.Done():
							return ctx.Err()
						case <-time.After(d):
							return nil
						}
					}
				}
				began := time.Now()
				f.wants(name, f.handle(f.rendered()), tc.want...)
				if took := time.Since(began); took != tc.after {
					t.Errorf("it took %s, want %s", took, tc.after)
				}
			})
		})
	}
}

// TestLanes: what is one member's alone waits for none of the others' events.
func TestLanes(t *testing.T) {
	f := newFleet(t, "m1", "m2")
	out := f.handle(f.rendered())
	f.trouble["m2"] = func(context.Context) error { return errMoody }
	alone := f.handle(f.rendered())
	i := slices.IndexFunc(alone, func(e event.Event) bool { return e.Type() == events.WorkRendered })
	if a, b := f.stage.Lane(f.rendered()), f.stage.Lane(alone[i]); a == b {
		t.Errorf("both are in the lane %s", a)
	}
	if a, b := coalesce.Lane(f.rendered()), coalesce.Lane(out[0]); a != b {
		t.Errorf("the answer is in the lane %s, want %s: the template's", b, a)
	}
}

// TestAWorkIsHandledOnceAtATime: an event about it alone waits for one about many.
func TestAWorkIsHandledOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "m1", "m2")
		var at, most atomic.Int32
		f.trouble["m2"] = func(context.Context) error {
			if n := at.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			at.Add(-1)
			return nil
		}
		both := f.rendered()
		f.works = f.works[1:]
		alone := f.rendered()
		began := time.Now()
		done := make(chan []event.Event, 2)
		go func() { done <- f.handle(both) }()
		synctest.Wait()
		go func() { done <- f.handle(alone) }()
		f.wants("the first", <-done, "applied,m1,m2,AppliedSuccessful")
		f.wants("the second", <-done, "applied,m2,AppliedSuccessful")
		if d := time.Since(began); most.Load() != 1 || d != 2*time.Second {
			t.Errorf("%d at once, in %s", most.Load(), d)
		}
		f.wrote(map[string]int32{"m1": 1, "m2": 1})
	})
}
