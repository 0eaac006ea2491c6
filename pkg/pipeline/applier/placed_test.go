// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package applier_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	events "sluice.dev/apis/events/v1"
	memberclusterv1 "sluice.dev/apis/membercluster/v1"
	placementv1 "sluice.dev/apis/placement/v1"
	workv1alpha1 "sluice.dev/apis/work/v1alpha1"
	"sluice.dev/pkg/core/placing/telling"
	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/pipeline/applier"
	"sluice.dev/test/pipelinetest"
	"sluice.dev/test/pipelinetest/fixture"
)

// placedIn is a hub with a placement shop, whose Work has these ConfigMaps for the member.
func placedIn(t *testing.T, clock func() time.Time, names ...string) (*pipelinetest.Hub, *pipelinetest.Member, *placementv1.ClusterResourcePlacement, *propagation.Work) {
	t.Helper()
	hub, m := pipelinetest.NewHub(pipelinetest.Options{Now: clock}), pipelinetest.NewMember("m1")
	key := propagation.WorkKey{Cluster: "m1", Name: "shop-work", Form: propagation.PlacementForm}
	if err := hub.EnsureNamespace(t.Context(), key.Namespace()); err != nil {
		t.Fatal(err)
	}
	if err := m.EnsureNamespace(t.Context(), "shop", nil); err != nil {
		t.Fatal(err)
	}
	p := &placementv1.ClusterResourcePlacement{}
	p.Name = "shop"
	hub.Put(p)
	w := &propagation.Work{Key: key, Labels: map[string]string{placementv1.LabelParentCRP: "shop"}}
	for _, name := range names {
		raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":%q}}`, name)
		w.Spec.Workload.Manifests = append(w.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(raw)}})
	}
	w, err := hub.CommitWork(t.Context(), nil, w)
	if err != nil {
		t.Fatal(err)
	}
	return hub, m, p, w
}

// heldIn is placedIn in a member that is joined, with a Work that waits for it when it is
// deleted.
func heldIn(t *testing.T, clock func() time.Time, names ...string) (*pipelinetest.Hub, *pipelinetest.Member, *placementv1.ClusterResourcePlacement, *propagation.Work) {
	t.Helper()
	hub, m, p, w := placedIn(t, clock, names...)
	held := *w
	held.Finalizers = []string{propagation.FinalizerWork}
	if _, err := hub.CommitWork(t.Context(), w, &held); err != nil {
		t.Fatal(err)
	}
	hub.Join("m1")
	hub.Put(&memberclusterv1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}})
	return hub, m, p, w
}

// renderedFor says that the Work was rendered.
func renderedFor(t *testing.T, key propagation.WorkKey) event.Event {
	t.Helper()
	template := propagation.PlacementKey("shop")
	e, err := events.New("test", event.New(), events.WorkRendered, events.Data{Template: &template, Placement: "shop", Work: &key, Cluster: key.Cluster})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A suspension that is made while a Work of many objects is written stops it in the midst,
// and the rest follows when it is released.
func TestASuspensionStopsAWorkInTheMidst(t *testing.T) {
	const many = 20
	now := fixture.Start
	clock := func() time.Time { return now }
	var all []string
	for i := range many {
		all = append(all, fmt.Sprintf("cm-%02d", i))
	}
	hub, m, p, w := placedIn(t, clock, all...)
	suspend := func(says string) {
		next := p.DeepCopy()
		next.Annotations = map[string]string{propagation.AnnotationSuspended: says}
		hub.Put(next)
	}
	looks := 0
	stage := applier.New(hub, open{}, func(context.Context, string) (applier.Member, error) { return m, nil }, func() time.Time {
		if looks++; looks == 5 {
			suspend("m1")
		}
		now = now.Add(300 * time.Millisecond)
		return now
	}).Sequential()
	apply := func(want string) {
		t.Helper()
		out, err := stage.Handle(t.Context(), renderedFor(t, w.Key))
		if err != nil || len(out) != 1 || out[0].Type() != want {
			t.Fatalf("it ends with %v, %v, want %s", out, err, want)
		}
	}
	apply(events.WorkHeld)
	if n := len(m.Objects()); n == 0 || n > many/2 {
		t.Errorf("%d of %d objects were written", n, many)
	}
	suspend("")
	apply(events.WorkApplied)
	if n := len(m.Objects()); n < many {
		t.Errorf("%d of %d objects are there", n, many)
	}
}

// changing is a hub whose Work somebody changes just before its status is written.
type changing struct {
	*pipelinetest.Hub
	change func()
}

func (h changing) CommitWorkResults(ctx context.Context, w *propagation.Work, status placementv1.WorkStatus) (*propagation.Work, error) {
	h.change()
	return h.Hub.CommitWorkResults(ctx, w, status)
}

// An object that a Work loses while it is applied for the first time is recorded, although
// that status was never written: it has to leave the member.
func TestWhatAWorkLosesWhileItIsAppliedIsRecorded(t *testing.T) {
	now := fixture.Start
	clock := func() time.Time { return now }
	hub, m, _, w := placedIn(t, clock, "stays", "leaves")
	var once sync.Once
	changes := changing{hub, func() {
		once.Do(func() {
			next := *w
			next.Spec.Workload.Manifests = w.Spec.Workload.Manifests[:1]
			if _, err := hub.CommitWork(t.Context(), w, &next); err != nil {
				t.Error(err)
			}
		})
	}}
	stage := applier.New(changes, open{}, func(context.Context, string) (applier.Member, error) { return m, nil }, clock).Sequential()
	if _, err := stage.Handle(t.Context(), renderedFor(t, w.Key)); !outcome.IsConflict(err) {
		t.Fatalf("the first pass ends with %v, want a conflict", err)
	}
	if n := len(m.Objects()); n != 2 {
		t.Fatalf("the member has %d objects", n)
	}
	live, err := hub.WorkNow(t.Context(), w.Key)
	if err != nil {
		t.Fatal(err)
	}
	former := telling.Former(live, []placementv1.ManifestCondition{{Identifier: placementv1.WorkResourceIdentifier{Kind: "ConfigMap", Namespace: "shop", Name: "stays"}}})
	if len(former) != 1 || former[0].Identifier.Name != "leaves" || former[0].Applied == nil {
		t.Errorf("of what has to leave the Work records %+v", former)
	}
}

// partial is a hub that does not serve some kinds.
type partial struct {
	*pipelinetest.Hub
	unserved string
}

func (h partial) PlacementBindingsNow(ctx context.Context, placement string) ([]*placementv1.ClusterResourceBinding, error) {
	if strings.Contains(h.unserved, "bindings") {
		return nil, outcome.ErrNotServed
	}
	return h.Hub.PlacementBindingsNow(ctx, placement)
}

func (h partial) PolicySnapshotsNow(ctx context.Context, placement string) ([]*placementv1.ClusterSchedulingPolicySnapshot, error) {
	if strings.Contains(h.unserved, "policies") {
		return nil, outcome.ErrNotServed
	}
	return h.Hub.PolicySnapshotsNow(ctx, placement)
}

// Z11: a Work that goes with its kind does not wait for what is not served any more, or its
// kind could never go: the member keeps its objects. One that somebody deleted waits.
func TestZ11AWorkThatGoesWithItsKindWaitsForNothingThatIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		unserved string
		kind     bool // goes with the Work
		wantGone bool
	}{
		"no bindings are served, and the kind goes":          {unserved: "bindings", kind: true, wantGone: true},
		"no policies are served, and the kind goes":          {unserved: "policies", kind: true, wantGone: true},
		"neither is served, and the kind goes":               {unserved: "bindings, policies", kind: true, wantGone: true},
		"neither is served, and somebody deleted it by hand": {unserved: "bindings, policies"},
		"its binding is missing, and it was deleted by hand": {},
	} {
		t.Run(name, func(t *testing.T) {
			now := fixture.Start
			hub, m, _, w := heldIn(t, func() time.Time { return now }, "a")
			stage := applier.New(partial{hub, tc.unserved}, open{}, func(context.Context, string) (applier.Member, error) { return m, nil }, func() time.Time { return now })
			if _, err := stage.Handle(t.Context(), renderedFor(t, w.Key)); err != nil {
				t.Fatal(err)
			}
			before := len(m.Objects())
			if tc.kind {
				hub.DropKind(pipelinetest.KindWorks)
			} else if err := hub.DeleteWork(t.Context(), hub.LiveWork(w.Key)); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Minute)
			if _, err := stage.Handle(t.Context(), renderedFor(t, w.Key)); err != nil {
				t.Fatal(err)
			}
			if gone := hub.LiveWork(w.Key) == nil; gone != tc.wantGone {
				t.Errorf("the Work is gone: %t, want %t", gone, tc.wantGone)
			}
			if len(m.Objects()) != before {
				t.Error("the member lost its object")
			}
		})
	}
}
