// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package registrar

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "sluice.dev/apis/cluster/v1alpha1"
	events "sluice.dev/apis/events/v1"
	"sluice.dev/pkg/core/conditions"
	"sluice.dev/pkg/core/mirroring"
	"sluice.dev/pkg/core/reporting"
	"sluice.dev/pkg/pipeline/sweeper/tick"
)

func (f *fleet) CommitClusterStatus(_ context.Context, c *clusterv1alpha1.Cluster, s clusterv1alpha1.ClusterStatus) error {
	f.note("cluster status")
	f.cluster = c.DeepCopy()
	f.cluster.Status = s
	return nil
}

// A Cluster lists the kinds that its member serves: with what is said of it anyway, and
// again when they change. What a member cannot tell stands as it was.
func TestAClusterListsItsKinds(t *testing.T) {
	f := &fleet{cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1"}}}
	now, served := began, &mirroring.Kinds{}
	serve := func(names ...string) {
		served = &mirroring.Kinds{}
		for _, n := range names {
			served.Served = append(served.Served, clusterv1alpha1.APIEnablement{GroupVersion: n, Resources: []clusterv1alpha1.APIResource{{Name: "things", Kind: "Thing"}}})
		}
	}
	r := New(f, func(context.Context, string) (string, error) { return "v1.36.3", nil }, func() time.Time { return now }).
		Listing(func(context.Context, string) (*mirroring.Kinds, error) {
			if served == nil {
				return nil, errors.New("it is too old")
			}
			return served, nil
		})
	look := func(after time.Duration, want ...string) {
		t.Helper()
		last := now
		if now = now.Add(after); after == 0 {
			last = time.Time{}
		}
		if err := r.readiness(t.Context(), f.cluster, r.ask(t.Context(), "member1", last), events.From(tick.Stage, event.New())); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, f.take()); d != "" {
			t.Errorf("written (-want +got):\n%s", d)
		}
	}
	lists := func(want ...string) {
		t.Helper()
		var got []string
		for _, e := range f.cluster.Status.APIEnablements {
			got = append(got, e.GroupVersion)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("listed (-want +got):\n%s", d)
		}
		if !conditions.Is(f.cluster.Status.Conditions, clusterv1alpha1.ConditionCompleteAPIEnablements, metav1.ConditionTrue) {
			t.Errorf("the list is not complete: %v", f.cluster.Status.Conditions)
		}
	}
	serve("v1", "apps/v1")
	look(0, "cluster status")
	lists("apps/v1", "v1")
	look(time.Hour)
	serve("apps/v1", "v1", "x.io/v1")
	look(time.Second) // it was asked a moment ago
	look(time.Hour, "cluster status")
	lists("apps/v1", "v1", "x.io/v1")
	served = nil
	look(time.Hour)
	lists("apps/v1", "v1", "x.io/v1")
}

// A Cluster says which of its fields are not acted on, with what is said of it anyway:
// also while it does not answer, and once only.
func TestAClusterSaysWhichFieldsAreIgnored(t *testing.T) {
	f := &fleet{cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1"}}}
	now, down := began, error(nil)
	r := New(f, func(context.Context, string) (string, error) { return "v1.36.3", down }, func() time.Time { return now })
	look := func(mode clusterv1alpha1.ClusterSyncMode, failure error, want ...string) {
		t.Helper()
		f.cluster.Spec.SyncMode, down, now = mode, failure, now.Add(time.Hour)
		if err := r.readiness(t.Context(), f.cluster, r.ask(t.Context(), "member1", now), events.From(tick.Stage, event.New())); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, f.take()); d != "" {
			t.Errorf("written (-want +got):\n%s", d)
		}
	}
	says := func(want string) {
		t.Helper()
		c := meta.FindStatusCondition(f.cluster.Status.Conditions, reporting.ConditionFieldsIgnored)
		if said := c != nil && c.Status == metav1.ConditionTrue; said != (want != "") || said && !strings.Contains(c.Message, want) {
			t.Errorf("it says %v, want %q", c, want)
		}
	}
	look(clusterv1alpha1.Push, nil, "cluster status")
	says("")
	look(clusterv1alpha1.Pull, nil, "cluster status")
	says("spec.syncMode Pull (the same as Push)")
	look(clusterv1alpha1.Pull, nil)
	look(clusterv1alpha1.Push, errors.New("it does not answer"), "cluster status")
	says("")
	look(clusterv1alpha1.Pull, errors.New("it times out"), "cluster status")
	says("spec.syncMode Pull")
	if c := meta.FindStatusCondition(f.cluster.Status.Conditions, clusterv1alpha1.ConditionReady); c.Message != "it does not answer" {
		t.Errorf("the first reason stays until it answers, and it is %s", c.Message)
	}
	look(clusterv1alpha1.Pull, errors.New("it does not answer"))
}

// A Cluster says how much of its nodes is taken, with what is said of it anyway, and
// again only where that changed by much.
func TestAClusterSaysWhatIsTaken(t *testing.T) {
	f := &fleet{cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "member1"}}}
	now, last, free := began, time.Time{}, "4"
	all := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	r := mirroringStage(f, &now)
	r.usage = func(context.Context, string) (*mirroring.Usage, error) {
		return &mirroring.Usage{Nodes: 1, Capacity: all, Allocatable: all, Available: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(free)}}, nil
	}
	look := func(taken string, want ...string) {
		t.Helper()
		if err := r.readiness(t.Context(), f.cluster, r.ask(t.Context(), "member1", last), events.From(tick.Stage, event.New())); err != nil {
			t.Fatal(err)
		}
		last, now = now, now.Add(time.Hour)
		if d := cmp.Diff(want, f.take()); d != "" {
			t.Errorf("written (-want +got):\n%s", d)
		}
		if got := f.cluster.Status.ResourceSummary.Allocated.Cpu().String(); got != taken {
			t.Errorf("%s is taken, want %s", got, taken)
		}
	}
	look("0", "cluster status")
	free = "3900m"
	look("0")
	free = "3"
	look("1", "cluster status")
	look("1")
}
