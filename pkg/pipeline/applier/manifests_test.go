// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/member"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/test/pipelinetest"
)

// far is a member that takes its time for each request, and notes in which order they
// came and how many were under way at once.
type far struct {
	applier.Member
	away time.Duration

	mu        sync.Mutex
	under     map[string]int // by kind
	most      int
	mixed     bool
	requested []string
}

// ask is called by each request, and returns what ends it.
func (f *far) ask(ctx context.Context, verb string, ref member.Ref) func() {
	f.mu.Lock()
	f.under[ref.Kind]++
	f.most = max(f.most, f.under[ref.Kind])
	f.mixed = f.mixed || len(f.under) > 1
	f.requested = append(f.requested, verb+" "+ref.Kind+" "+ref.Name)
	f.mu.Unlock()
	select {
	case <-time.After(f.away):
	case <-ctx.Done():
	}
	f.mu.Lock()
	return func() {
		if f.under[ref.Kind]--; f.under[ref.Kind] == 0 {
			delete(f.under, ref.Kind)
		}
		f.mu.Unlock()
	}
}

func (f *far) answers(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &member.Unreachable{Cluster: "m1", Err: err}
	}
	return nil
}

func (f *far) Look(ctx context.Context, ref member.Ref, how member.Looking) (applying.Read[*applying.Observed], error) {
	defer f.ask(ctx, "get", ref)()
	if err := f.answers(ctx); err != nil {
		return applying.Read[*applying.Observed]{}, err
	}
	return f.Member.Look(ctx, ref, how)
}

func (f *far) Write(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any, live *applying.Observed) (*applying.Observed, error) {
	meta, _ := manifest["metadata"].(map[string]any)
	defer f.ask(ctx, "apply", member.Ref{Kind: fmt.Sprint(manifest["kind"]), Name: fmt.Sprint(meta["name"])})()
	if err := f.answers(ctx); err != nil {
		return nil, err
	}
	return f.Member.Write(ctx, w, hub, manifest, live)
}

func (f *far) Delete(ctx context.Context, ref member.Ref, r applying.Removal) (bool, error) {
	defer f.ask(ctx, "delete", ref)()
	if err := f.answers(ctx); err != nil {
		return false, err
	}
	return f.Member.Delete(ctx, ref, r)
}

// times is how often each request was made, by its verb.
func (f *far) times(verb string) map[string]int {
	times := map[string]int{}
	for _, r := range f.requested {
		if strings.HasPrefix(r, verb+" ") {
			times[r]++
		}
	}
	return times
}

// order is the verb's requests by kind, each where it began.
func (f *far) order(verb string) []string {
	var kinds []string
	for _, r := range f.requested {
		if words := strings.Fields(r); words[0] == verb {
			kinds = append(kinds, words[1])
		}
	}
	return slices.Compact(kinds)
}

// distant is a hub with a placement of many objects in one member that is far away.
type distant struct {
	t     *testing.T
	hub   *pipelinetest.Hub
	far   *far
	m     *pipelinetest.Member
	key   propagation.WorkKey
	p     *placementv1.ClusterResourcePlacement
	stage *applier.Stage
}

func newDistant(t *testing.T, many int, away time.Duration) *distant {
	d := &distant{t: t, hub: pipelinetest.NewHub(pipelinetest.Options{Now: time.Now}), m: pipelinetest.NewMember("m1")}
	d.far = &far{Member: d.m, away: away, under: map[string]int{}}
	d.key = propagation.WorkKey{Cluster: "m1", Name: "shop-work", Form: propagation.PlacementForm}
	d.must(d.hub.EnsureNamespace(t.Context(), d.key.Namespace()))
	d.must(d.m.EnsureNamespace(t.Context(), "shop", nil))
	d.hub.Join("m1")
	mc := &memberclusterv1.MemberCluster{}
	mc.Name = "m1"
	d.hub.Put(mc)
	d.p = &placementv1.ClusterResourcePlacement{}
	d.p.Name, d.p.Finalizers = "shop", []string{placementv1.FinalizerPlacement}
	d.hub.Put(d.p)
	w := &propagation.Work{Key: d.key, Labels: map[string]string{placementv1.LabelParentCRP: "shop"}, Finalizers: []string{propagation.FinalizerWork}}
	for i := range many {
		kind := "ConfigMap"
		if i < many/5 {
			kind = "ServiceAccount"
		}
		raw := fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"namespace":"shop","name":"o-%03d"}}`, kind, i)
		w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(raw)}})
	}
	_, err := d.hub.CommitWork(t.Context(), nil, w)
	d.must(err)
	d.stage = applier.New(d.hub, open{}, func(context.Context, string) (applier.Member, error) { return d.far, nil }, time.Now)
	return d
}

func (d *distant) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *distant) work() *propagation.Work {
	d.t.Helper()
	w, err := d.hub.Work(d.t.Context(), d.key)
	d.must(err)
	return w
}

// first is the event that has the Work brought to its member, or seen off.
func (d *distant) first(eventType, reason string) event.Event {
	d.t.Helper()
	template := propagation.PlacementKey("shop")
	e, err := events.New("test", event.New(), eventType, events.Data{Template: &template, Placement: "shop", Work: &d.key, Cluster: "m1", Reason: reason})
	d.must(err)
	return e
}

// handle handles the event within the time that a function has, and returns what comes of
// it.
func (d *distant) handle(e event.Event, within time.Duration) []event.Event {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), within)
	defer cancel()
	out, err := d.stage.Handle(ctx, e)
	d.must(err)
	return out
}

func types(all []event.Event) (out []string) {
	for _, e := range all {
		out = append(out, e.Type())
	}
	return out
}

func TestC14ObjectsOfOneKindAreWrittenAbreast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 40
		d := newDistant(t, many, 100*time.Millisecond)
		began := time.Now()
		if got := types(d.handle(d.first(events.WorkRendered, ""), 2*time.Minute)); !slices.Equal(got, []string{events.WorkApplied}) {
			t.Fatalf("it ends with %v", got)
		}
		// Looking and writing, four at a time.
		if took := time.Since(began); took != many/4*200*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		if d.far.most != 4 || d.far.mixed {
			t.Errorf("%d were under way at once, of several kinds: %t", d.far.most, d.far.mixed)
		}
		if got := d.far.order("apply"); !slices.Equal(got, []string{"ServiceAccount", "ConfigMap"}) {
			t.Errorf("they are written in the order %v", got)
		}
		for i, r := range d.work().Results {
			if r.Identifier.Ordinal != i || r.Applied == nil {
				t.Errorf("result %d is %+v", i, r.Identifier)
			}
		}
		d.leave()
		if got := types(d.handle(d.first(events.WorkRemoved, ""), 2*time.Minute)); !slices.Equal(got, []string{events.WorkDeleted}) {
			t.Fatalf("it leaves with %v", got)
		}
		if got := d.far.order("delete"); !slices.Equal(got, []string{"ConfigMap", "ServiceAccount"}) || d.far.mixed {
			t.Errorf("they leave in the order %v", got)
		}
		if n := len(d.m.Objects()); n != 0 {
			t.Errorf("%d objects are left", n)
		}
	})
}

// leave has the placement, and with it the Work, deleted.
func (d *distant) leave() {
	d.t.Helper()
	p := d.p.DeepCopy()
	p.DeletionTimestamp = new(metav1.NewTime(time.Now()))
	d.hub.Put(p)
	d.must(d.hub.DeleteWork(d.t.Context(), d.work()))
}
