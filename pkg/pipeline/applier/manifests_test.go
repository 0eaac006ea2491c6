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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/applying"
	"sluice.dev/pkg/core/placing/telling"
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

// Known is nothing: this process has no watch there.
func (f *far) Known(member.Ref) *applying.Observed { return nil }

func (f *far) Write(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any, live *applying.Observed) (*applying.Observed, error) {
	return f.apply(ctx, manifest, func() (*applying.Observed, error) { return f.Member.Write(ctx, w, hub, manifest, live) })
}

func (f *far) Create(ctx context.Context, w *propagation.Work, hub string, manifest map[string]any) (*applying.Observed, error) {
	return f.apply(ctx, manifest, func() (*applying.Observed, error) { return f.Member.Create(ctx, w, hub, manifest) })
}

func (f *far) apply(ctx context.Context, manifest map[string]any, do func() (*applying.Observed, error)) (*applying.Observed, error) {
	meta, _ := manifest["metadata"].(map[string]any)
	defer f.ask(ctx, "apply", member.Ref{Kind: fmt.Sprint(manifest["kind"]), Name: fmt.Sprint(meta["name"])})()
	if err := f.answers(ctx); err != nil {
		return nil, err
	}
	return do()
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

func typesOf(all []event.Event) (out []string) {
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
		if got := typesOf(d.handle(d.first(events.WorkRendered, ""), 2*time.Minute)); !slices.Equal(got, []string{events.WorkApplied}) {
			t.Fatalf("it ends with %v", got)
		}
		// Four at a time, and nobody looks first: what is there refuses to be created.
		if took := time.Since(began); took != many/4*100*time.Millisecond {
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
		if got := typesOf(d.handle(d.first(events.WorkRemoved, ""), 2*time.Minute)); !slices.Equal(got, []string{events.WorkDeleted}) {
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

// through handles the event, and those that go on where time has ended, each within the
// time of a function, and returns what came of it and how many it took.
func (d *distant) through(e event.Event, between func(n int)) (ended []string, n int) {
	d.t.Helper()
	for {
		n++
		out := d.handle(e, 2*time.Minute)
		if len(out) != 1 || out[0].Type() != e.Type() {
			return typesOf(out), n
		}
		if e = out[0]; between != nil {
			between(n)
		}
		if n > 50 {
			d.t.Fatal("it does not end")
		}
	}
}

// says is what the Work says of whether it is applied.
func (d *distant) says() string {
	c := meta.FindStatusCondition(d.work().Status.Conditions, placementv1.ConditionApplied)
	if c == nil {
		return "nothing"
	}
	return string(c.Status) + " " + c.Reason
}

func (d *distant) once(verb string, many int) {
	d.t.Helper()
	times := d.far.times(verb)
	if len(times) != many {
		d.t.Errorf("%s: %d objects, want %d", verb, len(times), many)
	}
	for r, n := range times {
		if n != 1 {
			d.t.Errorf("%s: %d times", r, n)
		}
	}
}

// 500 objects at a second each take longer than an event has. What was done when time ends
// is kept, and nothing is asked or written again.
func TestAWorkOfAMemberThatIsFarAwayComesToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDistant(t, propagation.MaxManifests, time.Second)
		recorded := 0
		ended, n := d.through(d.first(events.WorkRendered, ""), func(int) {
			if got := d.says(); got != "Unknown "+placementv1.ReasonApplyInProgress {
				t.Errorf("in the midst it says %q", got)
			}
			before := recorded
			recorded = 0
			for _, r := range d.work().Results {
				if r.Applied != nil {
					recorded++
				}
			}
			if recorded <= before || recorded != len(d.m.Objects()) {
				t.Errorf("%d objects are recorded after %d, and %d are there", recorded, before, len(d.m.Objects()))
			}
		})
		if !slices.Equal(ended, []string{events.WorkApplied}) || n != 2 {
			t.Errorf("it ends with %v after %d events", ended, n)
		}
		if got := d.says(); got != "True AllManifestsApplied" {
			t.Errorf("at the end it says %q", got)
		}
		d.once("get", 0)
		d.once("apply", propagation.MaxManifests)
	})
}

// Where the event that goes on is lost, another begins anew, and writes nothing that is
// right already; what was concluded stays concluded while it is looked at again.
func TestAWorkOfAMemberThatIsFarAwayIsLookedAtAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDistant(t, propagation.MaxManifests, time.Second)
		d.handle(d.first(events.WorkRendered, ""), 2*time.Minute) // what goes on is lost
		if ended, _ := d.through(d.first(events.WorkRendered, events.ReasonUnfinished), nil); !slices.Equal(ended, []string{events.WorkApplied}) {
			t.Errorf("it ends with %v", ended)
		}
		d.once("apply", propagation.MaxManifests)
		version := d.work().ResourceVersion
		d.far.away = 2 * time.Second
		ended, n := d.through(d.first(events.WorkRendered, "ObjectChanged"), func(int) {
			if got := d.says(); got != "True AllManifestsApplied" {
				t.Errorf("in the midst it says %q", got)
			}
		})
		if !slices.Equal(ended, []string{events.WorkApplied}) || n < 2 {
			t.Errorf("it ends with %v after %d events", ended, n)
		}
		if now := d.work().ResourceVersion; now != version {
			t.Error("the Work was written where nothing changed")
		}
		d.once("apply", propagation.MaxManifests)
	})
}

// What of one form was done says nothing of another, and of what is not in it any more
// the rest is removed in time, too.
func TestAWorkOfAMemberThatIsFarAwayChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDistant(t, propagation.MaxManifests, time.Second)
		half := d.handle(d.first(events.WorkRendered, ""), 2*time.Minute)
		w := d.work()
		next := *w
		next.Spec.Workload.Manifests = slices.Clone(w.Spec.Workload.Manifests[:10])
		next.Spec.Workload.Manifests[9].Raw = []byte(`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"namespace":"shop","name":"o-009","labels":{"now":"another"}}}`)
		_, err := d.hub.CommitWork(t.Context(), w, &next)
		d.must(err)
		b := &placementv1.ClusterResourceBinding{}
		b.Name, b.Labels = "shop-m1", map[string]string{placementv1.LabelParentCRP: "shop"}
		b.Spec = placementv1.ResourceBindingSpec{State: placementv1.BindingStateBound, TargetCluster: "m1", ResourceSnapshotName: "shop-0-snapshot"}
		d.hub.Put(b)
		d.hub.Put(snapshotOf(next.Spec.Workload.Manifests))
		there := len(d.m.Objects())
		d.far.away = 2 * time.Second
		if ended, n := d.through(half[0], nil); !slices.Equal(ended, []string{events.WorkApplied}) || n < 2 {
			t.Errorf("it ends with %v after %d events", ended, n)
		}
		if n := len(d.m.Objects()); n != 10 {
			t.Errorf("%d objects are there", n)
		}
		d.once("delete", there-10)
		if n := d.far.times("apply")["apply ServiceAccount o-009"]; n != 2 {
			t.Errorf("what changed was written %d times", n)
		}
	})
}

func snapshotOf(manifests []workv1alpha1.Manifest) *placementv1.ClusterResourceSnapshot {
	s := &placementv1.ClusterResourceSnapshot{}
	s.Name = "shop-0-snapshot"
	s.Labels = map[string]string{placementv1.LabelParentCRP: "shop", placementv1.LabelResourceIndex: "0", placementv1.LabelIsLatestSnapshot: "true"}
	s.Annotations = map[string]string{placementv1.AnnotationNumberOfResourceSnapshots: "1"}
	for _, m := range manifests {
		s.Spec.SelectedResources = append(s.Spec.SelectedResources, placementv1.ResourceContent(m))
	}
	return s
}

// What has left is not asked for again, and the Work stays until all has.
func TestAWorkOfAMemberThatIsFarAwayLeavesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDistant(t, propagation.MaxManifests, 0)
		if got := typesOf(d.handle(d.first(events.WorkRendered, ""), 2*time.Minute)); !slices.Equal(got, []string{events.WorkApplied}) {
			t.Fatalf("it ends with %v", got)
		}
		d.leave()
		d.far.away, d.far.requested = time.Second, nil
		ended, n := d.through(d.first(events.WorkRemoved, ""), func(int) {
			w := d.work()
			if !slices.Contains(w.Finalizers, propagation.FinalizerWork) {
				t.Error("the Work was let go before its objects")
			}
			if left, there := len(telling.Brought(w)), len(d.m.Objects()); left != there {
				t.Errorf("%d objects are left, and the Work says %d", there, left)
			}
		})
		if !slices.Equal(ended, []string{events.WorkDeleted}) || n != 3 {
			t.Errorf("it ends with %v after %d events", ended, n)
		}
		if left := len(d.m.Objects()); left != 0 {
			t.Errorf("%d objects are left", left)
		}
		d.once("get", propagation.MaxManifests)
		d.once("delete", propagation.MaxManifests)
		if _, err := d.hub.Work(t.Context(), d.key); err == nil {
			t.Error("the Work is still there")
		}
	})
}
